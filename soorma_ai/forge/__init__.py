"""Three agents that work in phases: `ResearchAgent`, `UnderstandAgent`, `BuildAgent`. Their prompts are in
`prompts/forge`; what they search and read, whoever uses them gives, by the two events of `archive`."""

from soorma_ai.forge.base import BaseForgeAgent as BaseForgeAgent
from soorma_ai.forge.build import BuildAgent as BuildAgent
from soorma_ai.forge.research import ResearchAgent as ResearchAgent
from soorma_ai.forge.understand import UnderstandAgent as UnderstandAgent
