"""Extension: several stores on one broker."""

from soorma_ai.features.federation.ports import FEATURE, MAIL
from soorma_ai.features.federation.store import SqlMail
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.storage import Storage

EXTENSION = Extension(name=FEATURE, storage=Storage(parts={MAIL: SqlMail}))
