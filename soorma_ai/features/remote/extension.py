"""Extension: agents of processes without a store."""

from soorma_ai.features.remote.ports import FEATURE, LEASES
from soorma_ai.features.remote.store import SqlLeases
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.storage import Storage

EXTENSION = Extension(name=FEATURE, storage=Storage(parts={LEASES: SqlLeases}))
