"""Extension: long-term memory."""

from functools import partial

from soorma_ai.context_parts import MEMOS as CONTEXT_MEMOS
from soorma_ai.context_parts import RECALL
from soorma_ai.context_parts.memos import HandlerMemos, Recall
from soorma_ai.features.knowledge import statements
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import FEATURE, DropMemo, KeepMemo
from soorma_ai.features.knowledge.store import SqlMemos
from soorma_ai.features.knowledge.tables import MEMO, MEMO_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table, TextIndex

_OF_SHELF = "(SELECT shelf.tenant FROM shelf WHERE shelf.shelf = {row}.shelf)"
_OF_MEMO = "(SELECT memo.whose FROM memo WHERE memo.seq = {row}.seq)"


def _memos(handling: Handling) -> HandlerMemos:
    from soorma_ai.features.knowledge.handler_memos import MemosInHand

    return MemosInHand(handling)


def _recall(handling: Handling) -> Recall:
    from soorma_ai.features.knowledge.recall import recall

    return partial(recall, handling)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=split(MEMO_TABLES),
        tables=(
            Table("shelf", seen="{own} AND (is_shared = 1 OR {users})"),
            Table(MEMO, "shelf", _OF_SHELF),
            Table("memo_signs", "shelf", _OF_SHELF),
            Table("memo_numbers", "seq", _OF_MEMO, is_numbered=False),
        ),
        text_indexes=(TextIndex(MEMO, _OF_MEMO),),
        parts={MEMOS: SqlMemos},
        appliers={KeepMemo: statements.change, DropMemo: statements.change},
        tidy=statements.drop_expired,
        removal=Removal(kept=statements.remove_of_user, of_person=statements.OF_PERSON, merge=statements.merge_words),
    ),
    context={CONTEXT_MEMOS: _memos, RECALL: _recall},
)
