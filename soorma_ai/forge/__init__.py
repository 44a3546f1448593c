"""Three agents with phases: `ResearchAgent`, `UnderstandAgent`, `BuildAgent`. Their prompts are in `prompts/forge`;
texts to search and read come from the user's own tool, by the two events of `archive`."""

from soorma_ai.forge.base import BaseForgeAgent as BaseForgeAgent
from soorma_ai.forge.build import BuildAgent as BuildAgent
from soorma_ai.forge.research import ResearchAgent as ResearchAgent
from soorma_ai.forge.understand import UnderstandAgent as UnderstandAgent
