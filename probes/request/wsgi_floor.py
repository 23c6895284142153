#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wsgi_floor - the least that puts an application on the network: a loop of Python over epoll, no server at all.

A request is not looked at, the head of an answer is always the same, and nothing but the answer's pieces is taken from
the application. What the application costs more here than when it is called in a loop (in_process), no server can
avoid that answers each request when it is there: the kernel's work, and the caches that it takes from the application.
Known answer: the body of each application.
Limits: a request comes in one piece and its answer goes out in one; of PEP 3333 what these applications use.
Source: PEP 3333; epoll(7).
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main, workloads  # noqa: E402

_ASKED = ("hello", "page", "page_postgresql", "search", "search_searchd")


class WsgiFloor(Server):
    title = "a bare loop around the application"
    cannot = dict.fromkeys({*workloads.NAMES} - {*_ASKED}, "looks at no request and is no server")
    refuses = {"keep_alive=no": "keeps each connection until its client ends it"}
    most_workers = most_threads = 1

    def command(self):
        return self.python("""
import select, socket
def start_response(status, headers, exc_info=None):
    pass
def received(client):
    try:
        return client.recv(65536)
    except ConnectionResetError:
        return b""
listener = socket.create_server((host, port), backlog=1024)
listener.setblocking(False)
epoll = select.epoll()
epoll.register(listener, select.EPOLLIN)
clients = {}
head = b"HTTP/1.1 200 OK\\r\\nConnection: Keep-Alive\\r\\nContent-Length: %d\\r\\n\\r\\n"
environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "QUERY_STRING": ""}
while True:
    for fd, _ in epoll.poll():
        if fd == listener.fileno():
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clients[client.fileno()] = client
            epoll.register(client, select.EPOLLIN)
        elif received(clients[fd]):
            body = b"".join(application(environ.copy(), start_response))
            clients[fd].sendall(head % len(body) + body)
        else:
            epoll.unregister(fd)
            clients.pop(fd).close()
""")


main(WsgiFloor)
