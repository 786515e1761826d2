"""``serve --watch``: what people edit is watched, brought into the served repository, and loaded by the running server.

Files are polled: twice a second costs a thousandth of a core for a repository of a hundred files, works on network and
container file systems, where inotify is silent, and needs no package.
"""
