"""Longer deadlines of hooks, for processes that a busy machine keeps waiting; their Python runs this as it starts."""

from commonplace.hosts.hooks import deadlines
from commonplace.hosts.resident import client, fork_client

client.START_S = fork_client.START_S = fork_client.FORK_S = 60.0
client.DEADLINES_S = dict.fromkeys(client.DEADLINES_S, 60.0)
# The hook of prompts imports these when it is first called.
deadlines.RECALL_TIMEOUT_S = deadlines.LESSONS_TIMEOUT_S = 60.0
