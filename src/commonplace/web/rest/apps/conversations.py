"""REST of app memory for hosts: apps, conversations, and the digests for a prompt. Source: DIG-06."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Body, Depends, Path, Query, Response

from commonplace.apps import (
    COMPLETED,
    Conversation,
    MemoryContext,
    Reason,
    RegisteredApp,
    RegistrationOutcome,
)
from commonplace.core.errors import NotFoundError
from commonplace.web.http.access import installation_reader, installation_writer
from commonplace.web.http.app_parameters import AppId, OpenAppMemory, UserId
from commonplace.web.http.paging import WantedPage
from commonplace.web.http.problems import NOT_FOUND, STATE_CONFLICT
from commonplace.web.rest.api import BODY, Api
from commonplace.web.rest.apps.shapes import (
    ConversationShape,
    EndedShape,
    MemoriesPageShape,
    NewApp,
    NewConversation,
    NewMessages,
)

ONE: Final = "/apps/{appId}/conversations/{conversationId:path}"
"""The path of a conversation; its id may contain slashes."""

api = Api("/api/v1", "app memory")


async def conversation(
    memory: OpenAppMemory,
    app_id: AppId,
    conversation_id: Annotated[str, Path(alias="conversationId", description="the id of a conversation")],
) -> str:
    """Return the id of a conversation of an app from the path.

    Raises:
        NotFoundError: The app has no conversation with this id.
    """
    if not conversation_id.isprintable():
        raise NotFoundError("conversation", conversation_id)
    return (await memory.conversations.get(conversation_id, app_id=app_id)).conversation_id


ConversationId = Annotated[str, Depends(conversation)]


@api(
    "POST /apps",
    installation_writer,
    "The app, which was not there",
    *BODY,
    status=HTTPStatus.CREATED,
    also={HTTPStatus.OK: "The app, which was there; `outcome` says whether it was renamed"},
)
async def install_app(
    memory: OpenAppMemory, wanted: Annotated[NewApp, Body(description="the app")], response: Response
) -> RegisteredApp:
    """Install or rename an app.

    An uninstalled app returns with its digests.
    """
    app = await memory.registry.register(wanted.app_id, name=wanted.name)
    if app.outcome is not RegistrationOutcome.REGISTERED:
        response.status_code = HTTPStatus.OK
    return app


@api(
    "POST /apps/{appId}/conversations",
    installation_writer,
    "The conversation",
    NOT_FOUND,
    STATE_CONFLICT,
    *BODY,
    status=HTTPStatus.CREATED,
)
async def begin_conversation(
    memory: OpenAppMemory,
    app_id: AppId,
    wanted: Annotated[NewConversation, Body(description="the conversation")],
) -> Conversation:
    """Begin a conversation of an app.

    If the app already has an active conversation with this id and user, that conversation is returned unchanged. An
    ended conversation does not begin again.
    """
    return await memory.begin_conversation(app_id, wanted.conversation_id, user_id=wanted.user_id)


@api(f"POST {ONE}/messages", installation_writer, "The conversation", NOT_FOUND, STATE_CONFLICT, *BODY)
async def add_messages(
    memory: OpenAppMemory,
    conversation_id: ConversationId,
    wanted: Annotated[NewMessages, Body(description="the messages")],
) -> Conversation:
    """Add messages to a conversation.

    Store all of the messages, or none. Secrets in them are masked.
    """
    return await memory.add_messages(conversation_id, wanted.messages)


@api(f"POST {ONE}/end", installation_writer, "The conversation and its digest", NOT_FOUND)
async def end_conversation(
    memory: OpenAppMemory,
    conversation_id: ConversationId,
    reason: Annotated[Reason, Query(description="why the conversation ended")] = COMPLETED,
    *,
    wait: Annotated[bool, Query(description="whether to wait for the digest before responding")] = False,
) -> EndedShape:
    """End a conversation.

    The digest is made in the background, even after a restart of the service. Ending a conversation again does not make
    a second digest, but retries a failed digest.
    """
    ended = await memory.end_conversation(conversation_id, reason)
    return EndedShape.model_validate(
        {
            "conversation": ConversationShape.model_validate(ended.conversation),
            "repeated": ended.repeated,
            "digest": await ended.digested() if wait else None,
        }
    )


@api("GET /apps/{appId}/memories", installation_reader, "The digests of the page", NOT_FOUND)
async def list_app_memories(memory: OpenAppMemory, app_id: AppId, page: WantedPage) -> MemoriesPageShape:
    """List the digests of an app, page by page.

    Return the digests of all users of the app, newest first.
    """
    found = await memory.list_memories(app_id, limit=page.one_more, offset=page.offset)
    total = await memory.count(app_id)
    return page.envelope(MemoriesPageShape, "memories", found, total=total)


@api("GET /apps/{appId}/context", installation_reader, "The block and its digests", NOT_FOUND)
async def app_context(memory: OpenAppMemory, app_id: AppId, user_id: UserId = None) -> MemoryContext:
    """Read the block of digests for a prompt.

    Return up to ten digests that a model sees when a conversation of the app is in focus, half of them the user's own
    and half shared.
    """
    return await memory.context(app_id, user_id=user_id)
