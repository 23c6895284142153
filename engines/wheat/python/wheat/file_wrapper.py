# SPDX-License-Identifier: Apache-2.0
"""`wsgi.file_wrapper`: what an application returns for a file, which the server then sends without reading it."""


class FileWrapper:
    """The blocks of a file-like object; as PEP 3333 has it, also for middleware that iterates over it."""

    def __init__(self, filelike, blksize=8192):
        self.filelike = filelike
        self.blksize = blksize
        if hasattr(filelike, "close"):
            self.close = filelike.close

    def __iter__(self):
        return self

    def __next__(self):
        data = self.filelike.read(self.blksize)
        if data:
            return data
        raise StopIteration
