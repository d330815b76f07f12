"""Every error that commonplace raises on purpose.

    CommonplaceError
    ├── SettingsError (ValueError)          the environment or commonplace.toml
    ├── InvalidInputError (ValueError)      a value that a caller passed: field, expected, got
    │   └── SecretRefusedError              text that looks like a secret
    ├── NotFoundError (LookupError)         an id that names nothing
    ├── TenantUnsetError                    work on tenants' data without saying whose
    ├── StorageError                        a file or database
    │   ├── StorageUnavailableError         cannot be reached or written: disk full, server down, locked
    │   ├── DatabaseTooNewError             its schema is newer than this release
    │   ├── DatabaseTooOldError             its schema is of a development version
    │   └── EmbeddedPostgresError           the embedded server cannot be set up, started or stopped
    ├── ListenError                         the service cannot take connections at an address
    ├── AccessError                         the service would be open to everybody, or to nobody
    ├── ModuleError                         a module of a host: unknown, in a circle, or not started
    ├── UpkeepError                         a job of background work that was not done, or not whole
    ├── EmbeddingError                      the embedding engine
    │   ├── ModelMissingError               no weights are found
    │   ├── ModelDamagedError               weights or tokenizer are there and cannot be used
    │   └── ModelMismatchError              the memories' vectors are another model's
    └── ModelError                          a language model that was asked for something
        ├── ModelUnavailableError           cannot answer now: busy, failing, not reachable
        ├── ModelRefusedError               will not answer this however often it is asked
        │   └── ModelAccessError            will not answer anything: key, account, name, program
        ├── ModelTimeoutError               did not answer in time
        ├── ModelOutputError                answered something else than what was asked for
        ├── ModelCannotError                is not made for this kind of work
        └── ModelBudgetError                was not asked: the tokens of the day are spent

A message says what failed, what was expected and what came, and what to do. Expected outcomes are no errors:
they come back as receipts or as ``None``.
"""


class CommonplaceError(Exception):
    """Base of every error that commonplace raises on purpose."""


class SettingsError(CommonplaceError, ValueError):
    """A setting is unknown, or its value is not of its form."""


class InvalidInputError(CommonplaceError, ValueError):
    """A value passed by a caller is not acceptable; nothing was written.

    Args:
        field: The name of the parameter or field, as the caller knows it.
        expected: What would have been accepted, in words.
        got: The value that came, shown shortened.
    """

    SHOWN_CHARS = 80

    def __init__(self, field: str, expected: str, got: object) -> None:
        self.field = field
        self.expected = expected
        try:
            shown = repr(got)
        except RecursionError:
            shown = f"a deeply nested {type(got).__name__}"
        if len(shown) > self.SHOWN_CHARS:
            shown = f"{shown[: self.SHOWN_CHARS]}… ({len(shown)} characters)"
        self.got = shown
        super().__init__(f"{field}: expected {expected}, got {shown}")


class SecretRefusedError(InvalidInputError):
    """Text looks like it holds a secret, and secrets are not stored.

    The message names the kind of secret and never repeats the text.

    Args:
        field: The name of the field that held it.
        kind: What it looks like, for example ``"API key (sk-…)"``.
    """

    def __init__(self, field: str, kind: str) -> None:
        self.field = field
        self.expected = "text without secrets"
        self.got = kind
        self.kind = kind
        CommonplaceError.__init__(self, f"{field}: text appears to contain a secret ({kind}) — not stored")


class NotFoundError(CommonplaceError, LookupError):
    """An id or a name that nothing answers to.

    Args:
        kind: What was looked for, for example ``"memory"``.
        key: The id or name.
    """

    def __init__(self, kind: str, key: object) -> None:
        self.kind = kind
        self.key = key
        super().__init__(f"no {kind} with id {key!r}")


class TenantUnsetError(CommonplaceError):
    """Knowledge memory was asked for something outside of a request context, so that no tenant is known."""

    def __init__(self) -> None:
        super().__init__(
            "no tenant is set, and knowledge memory shows nothing without one: "
            "call it inside `with request_context(tenant_id=…, actor=…)`"
        )


class StorageError(CommonplaceError):
    """A file or a database did not do what was asked."""


class StorageUnavailableError(StorageError):
    """Storage cannot be reached or written: a full disk, a stopped server, a lock held too long."""


class DatabaseTooNewError(StorageError):
    """The database was made by a newer release; this one leaves it alone.

    Args:
        where: The database, without any password.
        found: The schema revision in the database.
        known: The newest revision that this release knows.
    """

    def __init__(self, where: str, found: str, known: str) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{where} has schema revision {found!r}, but this release knows revisions up to {known!r} only: "
            "install the release that made it, or point commonplace at another database"
        )


class DatabaseTooOldError(StorageError):
    """A development version made the database, at a revision that this release no longer upgrades.

    Args:
        where: The database, without any password.
        found: The schema revision in the database.
        oldest: The oldest revision of that branch that this release upgrades besides the specified ones.
    """

    def __init__(self, where: str, found: str, oldest: str) -> None:
        super().__init__(
            f"{where} has schema revision {found!r} of a development version, but this release upgrades "
            f"databases from {oldest!r} on: open it once with commit e3e977d, which upgrades it to {oldest!r}, "
            "or move it away to start with an empty database"
        )


class EmbeddedPostgresError(StorageError):
    """The embedded PostgreSQL server cannot be set up, started or stopped."""


class ListenError(CommonplaceError):
    """The service cannot take connections at an address.

    Args:
        host: Where it was to listen.
        port: Likewise.
        reason: Why it cannot, and what to do.
    """

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"cannot listen at {host}, port {port}: {reason}")


class ModuleError(CommonplaceError):
    """A module cannot be loaded, or was used before it was started."""


class AccessError(CommonplaceError):
    """The service would let everybody in, or nobody: a token or an option is missing."""


class EmbeddingError(CommonplaceError):
    """The embedding engine cannot do its work."""


class ModelMissingError(EmbeddingError):
    """No embedding weights are found in any of the places where they are looked for."""


class ModelDamagedError(EmbeddingError):
    """Embedding weights or tokenizer are there, and cannot be used."""


class ModelMismatchError(EmbeddingError):
    """This process computes vectors with another model than the one that made those of the memories.

    Args:
        found: What was found, in words: both models and their versions.
    """

    def __init__(self, found: str) -> None:
        super().__init__(
            f"{found}: vectors of two models cannot be compared. Restart this process with the model of the memories "
            "(COMMONPLACE_EMBEDDING_MODEL), or move the memories to this one: `commonplace knowledge reembed`"
        )


class UpkeepError(CommonplaceError):
    """A job of background work was not done, or not whole.

    Args:
        message: What failed.
        again_in_s: When what failed is due again; ``None`` where nothing says so.
    """

    def __init__(self, message: str, *, again_in_s: float | None = None) -> None:
        self.again_in_s = again_in_s
        super().__init__(message)


class ModelError(CommonplaceError):
    """A language model that was asked for something did not give it."""


class ModelUnavailableError(ModelError):
    """A model cannot answer now: a rate limit, an overload, a fault of the server, no connection.

    Args:
        message: What happened.
        retry_after_s: How long the server asked to be left alone, if it said.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ModelRefusedError(ModelError):
    """A model will not answer this however often it is asked: a wrong request, a policy."""


class ModelAccessError(ModelRefusedError):
    """A model will not answer anything: its key, account or name is refused, or its program does not start.

    It says nothing about what was asked, which can be asked again once somebody has put it right.
    """


class ModelTimeoutError(ModelError):
    """A model did not answer in time; what was asked of it has been stopped."""


class ModelOutputError(ModelError):
    """A model answered, and the answer cannot be used: cut off, not of the form asked for, not of its API."""


class ModelCannotError(ModelError):
    """A model was asked for something that it is not made for; the caller falls back on a rule."""


class ModelBudgetError(ModelError):
    """No model was asked, because the tokens of the day are spent.

    Args:
        spent: Tokens used since midnight UTC.
        limit: Tokens allowed a day.
    """

    def __init__(self, spent: int, limit: int) -> None:
        self.spent = spent
        self.limit = limit
        super().__init__(
            f"the model budget of {limit} tokens a day is spent ({spent} used): work that needs a model waits "
            "until midnight UTC; COMMONPLACE_MODEL_DAILY_TOKENS sets the budget, 0 lifts it"
        )
