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
    for entry in repo.store.walk():
        if entry.is_revlog:
            read_revlog(ui, entry.main_file_path(), entry.get_revlog_instance(repo).get_revlog())
    for rev in repo:
        context = repo[rev]
        ui.writenoi18n(b'phase\t%s\t%s\n' % (context.hex(), context.phasestr()))
    for name, node in sorted(repo._bookmarks.items()):
        ui.writenoi18n(b'bookmark\t%s\t%s\n' % (hex(node), name))
    ui.writenoi18n(b'obsolescence\t%s\n' % hashlib.sha1(repo.svfs.tryread(b'obsstore')).hexdigest().encode())


def read_revlog(ui, path, revlog):
    for rev in revlog:
        node = revlog.node(rev)
        # hg checks the node, except for revisions whose flags say that the text is elsewhere.
        content = hashlib.sha1(b'\0'.join([*revlog.parents(node), revlog.rawdata(rev)])).hexdigest().encode()
        ui.writenoi18n(b'object\t%s %s\t%s\n' % (path, hex(node), content))
        place = (path, rev, hex(node), revlog.linkrev(rev), revlog.flags(rev))
        ui.writenoi18n(b'revision\t%s\t%d\t%s\t%d\t%d\n' % place)
