"""An extension of hg for `cargo xtask mutate`: prints what hg reads in a repository.

A line for each revision of each revlog, with a digest of its text and the nodes of its parents, which its node covers,
and a line for all else that hg shows.
"""

import hashlib

from mercurial import registrar
from mercurial.node import hex

cmdtable = {}
command = registrar.command(cmdtable)


@command(b'read-all', [], b'')
def read_all(ui, repo):
    repo = repo.unfiltered()
    read_revlog(ui, b'changelog', repo.changelog)
    read_revlog(ui, b'manifest', repo.manifestlog.getstorage(b''))
    files = {path for rev in repo for path in repo[rev].manifest()}
    if b'treemanifest' in repo.requirements:
        folders = {path[:end] for path in files for end in slashes(path)}
        for folder in sorted(folders):
            read_revlog(ui, b'manifest of ' + folder, repo.manifestlog.getstorage(folder + b'/'))
    for path in sorted(files):
        read_revlog(ui, b'file ' + path, repo.file(path))
    for rev in repo:
        context = repo[rev]
        ui.writenoi18n(b'phase\t%s\t%s\n' % (context.hex(), context.phasestr()))
    for name, node in sorted(repo._bookmarks.items()):
        ui.writenoi18n(b'bookmark\t%s\t%s\n' % (hex(node), name))
    for marker in sorted(repo.obsstore, key=repr):
        ui.writenoi18n(b'marker\t%s\n' % repr(marker).encode())
    for name in sorted(listed(repo)):
        ui.writenoi18n(b'name\t%s\n' % repr(name).encode())


def slashes(path):
    return [at for at, byte in enumerate(path) if byte == ord('/')]


def listed(repo):
    """The names in the fncache, if there is one."""
    cache = getattr(repo.store, 'fncache', None)
    if cache is None:
        return []
    cache.ensureloaded()
    return cache.entries


def read_revlog(ui, path, revlog):
    for rev in revlog:
        node = revlog.node(rev)
        # hg checks the node, except for revisions whose flags say that the text is elsewhere.
        content = hashlib.sha1(b'\0'.join([*revlog.parents(node), revlog.rawdata(rev)])).hexdigest().encode()
        ui.writenoi18n(b'object\t%s %s\t%s\n' % (path, hex(node), content))
        ui.writenoi18n(b'revision\t%s\t%d\t%s\t%d\n' % (path, rev, hex(node), revlog.linkrev(rev)))
