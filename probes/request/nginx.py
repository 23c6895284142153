#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nginx - the server that the study of 2013 wants to equal on static files; with its open-file cache.

Known answer: the body.  Limits: no applications; hello is a line of its configuration.
Source: the documentation of nginx.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

import shutil  # noqa: E402
import subprocess  # noqa: E402

from server import HOST, Server, main, workloads  # noqa: E402

_CONFIGURATION = """
daemon off;
worker_processes {workers};
{user}
error_log stderr error;
pid {folder}/nginx.pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 10100; multi_accept on; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=60s;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {host}:{port} backlog=4096;
        location = / {{ default_type text/plain; return 200 "hello world"; }}
        location /static/ {{ alias {files}/; }}
    }}
}}
"""


class Nginx(Server):
    title = "nginx"
    package = "Debian: apt-get install nginx-light"
    cannot = dict.fromkeys({*workloads.NAMES} - {"hello", *workloads.STATIC_SIZES}, "runs no application")
    most_threads = 1

    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")

    @classmethod
    def missing(cls):
        return None if cls.program else f"nginx is not installed ({cls.package})"

    def command(self):
        text = _CONFIGURATION.format(
            host=HOST,
            port=self.port,
            workers=self.workers,
            folder=self.folder,
            files=self.files or self.folder,
            # Only a master that is root drops to another user, who may not enter the folder of this run.
            user="user root;" if os.geteuid() == 0 else "",
        )
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(text)
        return [self.program, "-p", self.folder, "-c", path, "-e", "stderr"]

    def version(self):
        said = subprocess.run([self.program, "-v"], stderr=subprocess.PIPE, check=False).stderr.decode()
        return said.partition("/")[2].split()[0]


main(Nginx)
