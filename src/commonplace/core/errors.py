"""The errors of commonplace, in one tree.

    CommonplaceError
    ├── SettingsError (ValueError)          the environment or commonplace.toml
    ├── InvalidInputError (ValueError)      a value that a caller passed: field, expected, got
    │   ├── SecretRefusedError              text that looks like a secret
    │   └── ConflictError                   a change that the present state does not allow
    │       └── UndoRefusedError            a change that can no longer be undone
    ├── NotFoundError (LookupError)         no item has this id
    │   ├── HomeMissingError                no device has begun a home at a target of sync
    │   └── SupersededError                 another fact has replaced the fact
    ├── TenantUnsetError                    no tenant is set
    ├── ClaimLostError                      another process runs the same request
    ├── StorageError                        a file or database
    │   ├── StorageUnavailableError         cannot be reached or written: disk full, server down, locked
    │   ├── DatabaseTooNewError             its schema is newer than this release
    │   ├── FileTooNewError                 a newer release wrote a file of the home
    │   ├── DatabaseTooOldError             its schema is from a development version
    │   └── EmbeddedPostgresError           the embedded server cannot be set up, started or stopped
    ├── ListenError                         the service cannot take connections at an address
    ├── AccessError                         a token or an option is missing
    ├── ModuleError                         a module of a host: unknown, in a cycle, or not started
    ├── ClockError                          the time is implausible, so decay and cleanup wait
    ├── UpkeepError                         a background job failed, or part of it
    ├── SyncError                           a target of sync, or a file of a device
    │   └── SyncFileError                   a file is forged, damaged, missing, or of a later release
    │       ├── SyncReleaseError            a later release wrote the file
    │       └── SyncKeyError                the file is sealed with a key that this device does not have
    ├── EmbeddingError                      the embedding engine
    │   ├── ModelMissingError               the weights are not found
    │   ├── ModelDamagedError               the weights or the tokenizer cannot be used
    │   └── ModelMismatchError              the vectors of the memories are from another model
    └── ModelError                          a request to a language model
        ├── ModelUnavailableError           the model is busy, failing or unreachable
        ├── ModelRefusedError               the model refuses this request, and will refuse it again
        │   └── ModelAccessError            the key, account, name or program is refused
        ├── ModelTimeoutError               the answer took too long
        ├── ModelOutputError                the answer cannot be used
        ├── ModelCannotError                the model cannot do this kind of work
        └── ModelBudgetError                the tokens of the day are spent

A message says what failed, what was expected, what was found, and what to do. Expected outcomes are not errors; they
are returned as receipts or ``None``.
"""

from commonplace.core.quoting import quoted


class CommonplaceError(Exception):
    """The base class of all errors of commonplace."""


class SettingsError(CommonplaceError, ValueError):
    """A setting is unknown, or its value is invalid."""


class InvalidInputError(CommonplaceError, ValueError):
    """A value that a caller passed is invalid; nothing was written.

    Args:
        field: The name of the parameter or field, as the caller knows it.
        expected: The accepted values, in words.
        got: The value found; the message shortens it.
    """

    SHOWN_CHARS = 80

    def __init__(self, field: str, expected: str, got: object) -> None:
        self.field = field
        self.expected = expected
        shown = quoted(got)
        if len(shown) > self.SHOWN_CHARS:
            shown = f"{shown[: self.SHOWN_CHARS]}… ({len(shown)} characters)"
        self.got = shown
        super().__init__(f"{field}: expected {expected}, got {shown}")


class SecretRefusedError(InvalidInputError):
    """A text looks like a secret, and secrets are not stored.

    The message names the kind of secret and never repeats the text.

    Args:
        kind: The kind of secret, for example ``"API key (sk-…)"``.
    """

    def __init__(self, field: str, kind: str) -> None:
        self.field = field
        self.expected = "text without secrets"
        self.got = kind
        self.kind = kind
        CommonplaceError.__init__(self, f"{field}: text appears to contain a secret ({kind}) — not stored")


class ConflictError(InvalidInputError):
    """The present state of an item does not allow a change; nothing was written.

    Args:
        field: The name of the parameter that names the item.
        message: What the state is and what to do, in sentences.
        got: The item that the caller named.
    """

    def __init__(self, field: str, message: str, got: object) -> None:
        super().__init__(field, "an item whose state allows the change", got)
        CommonplaceError.__init__(self, message)


class UndoRefusedError(ConflictError):
    """A change can no longer be undone; nothing was written.

    Args:
        change: The change, for example ``"the retry"``.
        reason: Why it stays, as a clause.
    """

    def __init__(self, field: str, change: str, reason: str, got: object) -> None:
        super().__init__(field, f"{change} can no longer be undone, because {reason}", got)


class NotFoundError(CommonplaceError, LookupError):
    """No item has the id or name.

    Args:
        kind: The kind of item, for example ``"memory"``.
    """

    def __init__(self, kind: str, key: object) -> None:
        self.kind = kind
        self.key = key
        super().__init__(f"no {kind} with id {quoted(key)}")


class HomeMissingError(NotFoundError):
    """A target of sync has no home that a device could join.

    Args:
        key: The address of the target.
    """

    def __init__(self, key: str) -> None:
        super().__init__("home", key)
        CommonplaceError.__init__(
            self,
            f"there is no home at {key} yet: wait until its files have arrived here, or run `commonplace sync init` "
            "if this is the first device",
        )


class SupersededError(NotFoundError):
    """The fact was superseded, so that it can no longer be changed.

    Args:
        key: The id of the fact.
        successor: The id of the fact that superseded it; ``None`` if that fact is not known.
    """

    def __init__(self, key: object, successor: object | None) -> None:
        super().__init__("fact", key)
        by = "" if successor is None else f" by the fact {quoted(str(successor))}; use that fact instead"
        CommonplaceError.__init__(self, f"the fact {quoted(str(key))} was superseded{by}")


class TenantUnsetError(CommonplaceError):
    """Knowledge memory was called outside of a request context, so no tenant is known."""

    def __init__(self) -> None:
        super().__init__(
            "no tenant is set, and knowledge memory needs one: "
            "call it inside `with request_context(tenant_id=…, actor=…)`"
        )


class ClaimLostError(CommonplaceError):
    """Another process runs the request of a key; nothing was written."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"another process has taken over the request with the key {quoted(key)}; "
            "send the request again with this key"
        )


class StorageError(CommonplaceError):
    """An operation on a file or a database failed."""


class StorageUnavailableError(StorageError):
    """Storage cannot be reached or written: a full disk, a stopped server, a lock held too long."""


class DatabaseTooNewError(StorageError):
    """A newer release made the database, so this release does not open it.

    Args:
        where: The database, without any password.
    """

    def __init__(self, where: str, found: str, known: str) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{where} has schema revision {quoted(found)}, but this release supports only revisions up to "
            f"{quoted(known)}: install the release that made the database, or go back with a backup from before its "
            "upgrade: commonplace restore --replace FILE"
        )


class FileTooNewError(StorageError):
    """A newer release wrote a file of the home, so this release neither reads nor replaces it."""

    def __init__(self, path: str, number: object, known: int) -> None:
        super().__init__(
            f"{path} has format {quoted(number)}, but this release knows only format {known}: install the release that "
            "wrote the file, or go back with a backup from before the upgrade: commonplace restore --replace FILE"
        )


class DatabaseTooOldError(StorageError):
    """A development version made the database, at a revision that this release no longer upgrades.

    Args:
        where: The database, without any password.
        oldest: The oldest revision of the branch, after the specified ones, that this release upgrades.
    """

    def __init__(self, where: str, found: str, oldest: str) -> None:
        super().__init__(
            f"{where} has schema revision {quoted(found)} of a development version, but this release upgrades "
            f"databases from {quoted(oldest)} on: open it once with commit e3e977d, which upgrades it to "
            f"{quoted(oldest)}, or move it away to start with an empty database"
        )


class EmbeddedPostgresError(StorageError):
    """The embedded PostgreSQL server cannot be set up, started or stopped."""


class ListenError(CommonplaceError):
    """The service cannot take connections at an address."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"cannot listen at {host}, port {port}: {reason}")


class ModuleError(CommonplaceError):
    """A module cannot be loaded, or was used before it was started."""


class AccessError(CommonplaceError):
    """The service would admit all clients or no client, because a token or an option is missing."""


class EmbeddingError(CommonplaceError):
    """The embedding engine failed."""


class ModelMissingError(EmbeddingError):
    """The embedding weights are not in any of the places where the engine looks."""


class ModelDamagedError(EmbeddingError):
    """The embedding weights or the tokenizer cannot be used."""


class ModelMismatchError(EmbeddingError):
    """This process uses another embedding model than the one that made the vectors of the memories."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"{found}; vectors of different models cannot be compared. Restart this process with the memories' model "
            "(COMMONPLACE_EMBEDDING_MODEL), or move the memories to this process's model: `commonplace knowledge "
            "reembed`"
        )


class ClockError(CommonplaceError):
    """The time is implausible, so decay, expiry and cleanup wait.

    Args:
        fault: What the clock says, and what was expected.
    """

    def __init__(self, fault: str) -> None:
        super().__init__(
            f"{fault}; decay, expiry and cleanup wait, because a wrong clock would delete memories. Set the clock, or "
            "confirm that it is right: commonplace admin clock --confirm"
        )


class UpkeepError(CommonplaceError):
    """A background job failed, or part of it.

    Args:
        again_in_s: Seconds until the failed work is due again; ``None`` if unknown.
    """

    def __init__(self, message: str, *, again_in_s: float | None = None) -> None:
        self.again_in_s = again_in_s
        super().__init__(message)


class SyncError(CommonplaceError):
    """A target of sync, or what it holds, cannot be used."""


class SyncFileError(SyncError):
    """A file of a device is forged, damaged, missing, or of a later release."""


class SyncReleaseError(SyncFileError):
    """A later release wrote a file, so it waits until this device is updated."""


class SyncKeyError(SyncFileError):
    """A file is sealed with a key of the home that this device does not have."""


class ModelError(CommonplaceError):
    """A request to a language model failed."""


class ModelUnavailableError(ModelError):
    """A model cannot answer now: a rate limit, an overload, a fault of the server, no connection.

    Args:
        retry_after_s: Seconds after which the server accepts a retry, if it named a time.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ModelRefusedError(ModelError):
    """A model refuses this request and will refuse it again: the request is wrong or violates a policy."""


class ModelAccessError(ModelRefusedError):
    """A model refuses every request: its key, account or name is wrong, or its program does not start.

    The request itself may be fine; retry it after the cause is fixed.
    """


class ModelTimeoutError(ModelError):
    """A model did not answer in time; the request was stopped."""


class ModelOutputError(ModelError):
    """The answer of a model cannot be used: it is cut off, in the wrong form, or not from its API."""


class ModelCannotError(ModelError):
    """A model cannot do the requested kind of work; the caller falls back on a rule."""


class ModelBudgetError(ModelError):
    """The tokens of the day are spent, so no model was called.

    Args:
        spent: Tokens used since midnight UTC.
    """

    def __init__(self, spent: int, limit: int, setting: str) -> None:
        self.spent = spent
        self.limit = limit
        super().__init__(
            f"the model budget of {limit} tokens a day is spent ({spent} used), so work that needs a model waits until "
            f"midnight UTC. To change the budget, set {setting}; 0 means no limit"
        )
