"""The embedded server counts as running only if it answers; its pid file alone is not enough."""

import socket
import threading
from pathlib import Path

import pytest

from commonplace.storage.cluster import SOCKET_NAME, Cluster
from commonplace.storage.postmaster import PROBE, answering_socket
from commonplace.storage.server_account import server_account


@pytest.mark.parametrize(("answer", "is_alive"), [(b"N", True), (b"", False)])
def test_a_server_answers_or_is_gone(tmp_path: Path, answer: bytes, *, is_alive: bool) -> None:
    """A killed server takes a connection for a moment more and closes it, while its pid file says "ready"."""
    cluster = Cluster(directory=tmp_path, account=server_account(), programs=tmp_path)
    cluster.data.mkdir()
    lines = ["1", "", "", "", str(tmp_path), "", "", "ready"]
    (cluster.data / "postmaster.pid").write_text("\n".join(lines))
    asked: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            asked.append(connection.recv(len(PROBE)))
            connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / SOCKET_NAME))
        listener.listen()
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        assert (answering_socket(cluster) is not None) is is_alive
        server.join()
    assert asked == [PROBE]
    assert answering_socket(cluster) is None
