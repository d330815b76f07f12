# Made by scripts/statements.py from the headers of the .sql files.
from typing import TypedDict

from commonplace.storage.database import Statements

class StepStatements(Statements):
    async def begin_step(self) -> object: ...
    async def undo_step(self) -> object: ...
    async def end_step(self) -> object: ...

class _AnswerOfRow(TypedDict):
    fingerprint: str
    status: int | None

class RequestStatements(Statements):
    async def mark_request(
        self, *, tenant_id: object, key: object, fingerprint: object, claim: object, expires_at: object
    ) -> str | None: ...
    async def keep_answer(
        self,
        *,
        tenant_id: object,
        key: object,
        status: object,
        media_type: object,
        location: object,
        body: object,
    ) -> object: ...
    async def answer_of(self, *, tenant_id: object, key: object, now: object) -> _AnswerOfRow | None: ...
    async def delete_expired_answers(self, *, now: object) -> object: ...
