"""``serve --watch``: what people edit is watched, brought into the served repository, and loaded by the running server.

    snapshot.py     the files of a folder by time stamp and size, without those of editors
    source.py       what is watched, and how the served repository follows it
    reload.py       which models are loaded and unloaded after a change, and what came of it
    watch.py        the loop

Files are polled: twice a second costs a thousandth of a core for a repository of a hundred files, works on network and
container file systems, where inotify is silent, and needs no package.
"""
