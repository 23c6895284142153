# SPDX-License-Identifier: Apache-2.0
"""echo_client.py SERVER: checks what the server sends back to many connections, and that it ends when asked."""

import os
import re
import signal
import socket
import subprocess
import sys

CONNECTIONS, ROUNDS = 50, 20


def main() -> int:
    """Return the server's exit code, or 1 when it sent back something else."""
    server = subprocess.Popen([sys.argv[1], "0"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.fullmatch(r"listening on port (\d+)\n", server.stdout.readline())[1])
        peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
        for size in (1, 10_000, *range(2, ROUNDS)):
            texts = [os.urandom(size) for _ in peers]
            for peer, text in zip(peers, texts, strict=True):
                peer.sendall(text)
            for peer, text in zip(peers, texts, strict=True):
                echoed = b""
                while len(echoed) < size:
                    more = peer.recv(size - len(echoed))
                    if not more:
                        return 1
                    echoed += more
                if echoed != text:
                    return 1
        for peer in peers[1:]:
            peer.close()
        # One connection is still open: the server must end all the same.
        server.send_signal(signal.SIGTERM)
        last, _ = server.communicate(timeout=20)
        print(last.strip())
        return server.returncode
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main())
