# repackbench - revlogs under other codecs, for Mercurial
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# This file runs as a part of Mercurial and uses its interfaces, so Mercurial's
# licence covers it. The native module beside it uses none of them and stays
# under the terms of the rest of the project.

"""read and write revlogs with repackbench's codecs

repackbench's native module encodes and decodes every compressed chunk of a
revlog, including zlib and zstd, instead of Python's zlib and Mercurial's zstd.
So all codecs are called through the same binding. The extension adds the
engines ``lz4``, ``snappy``, ``lzo``, ``deflate``, ``brotli``, ``lzma``, ``xz``
and ``bzip2``. Repositories with one of them have the requirement
``exp-compression-<name>``, and Mercurial without this extension refuses them.

Only repackbench itself reads dictionaries, and deltas that are compressed with
the content of their base: this extension does not support their requirements.

Raw chunks, bundles and the wire protocol are Mercurial's own.

Example::

  [extensions]
  repackbench = /path/to/repackbench

  [repackbench]
  # The codec of new chunks. Default: the engine's own at its default level,
  # or at storage.revlog.zlib.level and storage.revlog.zstd.level.
  codec = lz4hc:9
  # Print at the end of a command how many chunks each codec has read and written.
  summary = no
  # The program that ``hg repackbench`` runs. Default: the one that was installed
  # with this extension, or the one on the PATH.
  program = /path/to/bin/repackbench

``hg repackbench`` runs that program, which converts and measures repositories.
``hg debugrepackbench`` lists the codecs and their engines, and shows which code
handles each kind of chunk. A codec is used in repositories of its own engine.
New repositories, and ``hg debugupgraderepo``, get that engine unless
``format.revlog-compression`` says otherwise.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

from mercurial import (
    dispatch,
    encoding,
    error,
    extensions,
    localrepo,
    policy,
    pycompat,
    registrar,
    requirements,
    revlog,
    util,
)
from mercurial.i18n import _
from mercurial.utils import compression, procutil

minimumhgversion = b'6.3'
testedwith = b'6.3 6.9 7.0 7.1 7.2'

cmdtable = {}
command = registrar.command(cmdtable)
configtable = {}
configitem = registrar.configitem(configtable)
configitem(b'repackbench', b'codec', default=None)
configitem(b'repackbench', b'summary', default=False)
configitem(b'repackbench', b'program', default=None)

# The key of a repository's codec in the options of its revlogs.
CODEC_OPTION = b'repackbench.codec'

# Mercurial's own engines whose revlog chunks this extension handles.
TAKEN_OVER = (b'zlib', b'zstd')


# Requirements: checked while hg imports this file, so that hg shows one line
# and stops if `extensions.repackbench:required=yes` is set.


def _repository_functions():
    """the functions of this Mercurial that compute revlog options and the
    requirements of a new repository, as ((module, name), (module, name))"""
    try:
        from mercurial.repo import creation, vfs_options
    except ImportError:
        return (
            (localrepo, 'resolverevlogstorevfsoptions'),
            (localrepo, 'newreporequirements'),
        )
    return (
        (vfs_options, 'resolve_revlog_store_vfs_options'),
        (creation, 'new_repo_requirements'),
    )


def _check_mercurial():
    """abort if this Mercurial would read revlogs without this extension"""
    if b'rust' in policy.policy:
        raise error.Abort(
            _(
                b'this Mercurial reads revlogs with its Rust modules, which do not use codecs of extensions: '
                b'set HGMODULEPOLICY=c in the environment (it is "%s")'
            )
            % policy.policy
        )
    points = _repository_functions() + (
        (revlog, '_zlibdecompress'),
        (dispatch, '_checkshellalias'),
        (dispatch, '_earlysplitopts'),
    )
    for module, name in points:
        if not hasattr(module, name):
            raise error.Abort(
                _(b'Mercurial %s is not supported: it has no %s.%s (tested: %s)')
                % (util.version(), pycompat.sysbytes(module.__name__), pycompat.sysbytes(name), testedwith)
            )


def _load_native():
    """the native module, from the file beside this one"""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, '_native.abi3.so')
    if not os.path.exists(path):
        raise error.Abort(
            _(b'%s is missing: build it with "cargo xtask hg-extension" in a checkout of repackbench')
            % pycompat.fsencode(path)
        )
    loader = importlib.machinery.ExtensionFileLoader('_native', path)
    spec = importlib.util.spec_from_file_location('_native', path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


_check_mercurial()
_native = _load_native()


# Codecs ---------------------------------------------------------------------


def _engine_of(spec):
    """the name of the compression engine that a codec spec belongs to"""
    try:
        return pycompat.sysbytes(_native.engine_of(pycompat.sysstr(spec)))
    except ValueError as problem:
        raise error.ConfigError(b'repackbench.codec: %s' % encoding.strtolocal(str(problem)))


def _configured_codec(ui):
    """the codec spec in `ui`, checked, or None"""
    spec = ui.config(b'repackbench', b'codec')
    if spec:
        _engine_of(spec)
    return spec or None


# One compressor for each spec: all revlogs share its contexts and buffers.
_compressors = {}


def _compressor(spec):
    """the compressor for a codec spec"""
    if spec not in _compressors:
        # The zlib path of revlogs raises this error, too. It is a StorageError,
        # which compression engines have to raise.
        _compressors[spec] = _native.Compressor(pycompat.sysstr(spec), error.RevlogError)
    return _compressors[spec]


def _spec_of(engine, options):
    """the codec spec of an engine under a revlog's options"""
    codec = options.get(CODEC_OPTION)
    if codec and _engine_of(codec) == engine:
        return codec
    level = options.get(engine + b'.level')
    if engine == b'zstd':
        # For Mercurial's zstd, level 0 is another name of the default.
        level = level or options.get(b'level') or None
    return b'%s:%d' % (engine, level) if level is not None else engine


# Engines --------------------------------------------------------------------


class ownengine(compression.compressionengine):
    """an engine that Mercurial lacks"""

    def __init__(self, name, header):
        self._name = name
        self._header = header

    def name(self):
        return self._name

    def revlogheader(self):
        return self._header

    def revlogcompressor(self, opts=None):
        return _compressor(_spec_of(self._name, opts or {}))


def _our_engines():
    """the engines that Mercurial lacks, as (name, first byte of a chunk)"""
    return [
        (pycompat.sysbytes(name), pycompat.bytechr(header))
        for (name, header) in _native.engines()
    ]


def _take_over(name):
    """use our compressor for the revlog chunks of a registered engine, and only for those"""

    def revlogcompressor(orig, opts=None):
        return _compressor(_spec_of(name, opts or {}))

    extensions.wrapfunction(compression.compengines[name], 'revlogcompressor', revlogcompressor)


# Wrapped functions of Mercurial ---------------------------------------------


def _revlog_options(orig, ui, repo_requirements, features):
    """pass the repository's codec to its revlogs"""
    options = orig(ui, repo_requirements, features)
    codec = _configured_codec(ui)
    # Mercurial writes with any of a repository's engines: let it use the codec's, if that is one of them.
    wanted = _engine_of(codec) if codec and _is_among_several(_engine_of(codec), repo_requirements) else None
    feature_config = options.get(b'feature-config')
    if feature_config is None:
        options[CODEC_OPTION] = codec
        if wanted:
            options[b'compengine'] = wanted
    else:
        feature_config.compression_engine_options[CODEC_OPTION] = codec
        if wanted:
            feature_config.compression_engine = wanted
    return options


def _is_among_several(name, repo_requirements):
    """whether a repository has the requirements of several engines including this one"""
    prefixes = (b'revlog-compression-', b'exp-compression-')
    engines = {r.split(b'-', 2)[2] for r in repo_requirements if r.startswith(prefixes)}
    return len(engines) > 1 and name in engines


def _init_opts(orig, self):
    """like _revlog_options, for versions whose revlogs read single options (before feature-config)"""
    result = orig(self)
    if hasattr(self, '_compengineopts'):
        self._compengineopts[CODEC_OPTION] = self.opener.options.get(CODEC_OPTION)
    return result


def _new_requirements(orig, ui, *args, **kwargs):
    """refuse a bad codec before anything is created"""
    _configured_codec(ui)
    return orig(ui, *args, **kwargs)


# Extension hooks ------------------------------------------------------------


def uisetup(ui):
    ours = _our_engines()
    for (name, header) in ours:
        compression.compengines.register(ownengine(name, header))
    for name in TAKEN_OVER:
        _take_over(name)
    (options, new_requirements) = _repository_functions()
    extensions.wrapfunction(*options, _revlog_options)
    extensions.wrapfunction(*new_requirements, _new_requirements)
    if hasattr(revlog.revlog, '_init_opts'):
        extensions.wrapfunction(revlog.revlog, '_init_opts', _init_opts)
    # A stream clone copies chunks unchanged, so the clone needs the requirement,
    # too. Older versions list the requirements that are copied, newer ones those
    # that are not.
    if hasattr(requirements, 'STREAM_FIXED_REQUIREMENTS'):
        requirements.STREAM_FIXED_REQUIREMENTS.update(b'exp-compression-%s' % name for (name, header) in ours)
    # Revlogs call zlib directly, without the engine. This reader is used by the
    # whole process: stock zlib if the configured codec is not a zlib.
    try:
        reader = _spec_of(b'zlib', {CODEC_OPTION: _configured_codec(ui)})
    except error.ConfigError:
        reader = b'zlib'  # the error is reported when a repository is opened
    revlog._zlibdecompress = _compressor(reader).decompress
    if ui.configbool(b'repackbench', b'summary'):
        ui.atexit(_print_summary, ui)
    extensions.wrapfunction(dispatch, '_checkshellalias', _note_repository)


def uipopulate(ui):
    """let the configured codec determine the format of new repositories"""
    if ui.hasconfig(b'format', b'revlog-compression'):
        return
    try:
        codec = _configured_codec(ui)
    except error.ConfigError:
        return  # reported when a repository is opened or made
    if codec:
        ui.setconfig(b'format', b'revlog-compression', _engine_of(codec), b'repackbench')


def _print_summary(ui):
    """print a line for each codec that was used"""
    used = [(spec, c) for (spec, c) in sorted(_compressors.items()) if c.decoded or c.encoded]
    if not used:
        ui.write_err(b'repackbench: no chunks decoded or encoded\n')
    for spec, compressor in used:
        ui.write_err(
            b'repackbench: %s: %d chunks decoded, %d encoded\n'
            % (spec, compressor.decoded, compressor.encoded)
        )


# hg repackbench -------------------------------------------------------------


@command(
    b'repackbench',
    [],
    _(b'hg [-R REPO] repackbench SUBCOMMAND [ARGUMENT]...'),
    helpcategory=command.CATEGORY_MAINTENANCE,
    norepo=True,
)
def repackbench(ui, *arguments):
    """show what a repository would be like under other codecs

    Runs the program repackbench. Everything after the command's name is passed
    to it, including options, except for those that Mercurial accepts anywhere:
    ``-R``, ``--cwd`` and ``--config``. The exit status is the program's.

    Repositories are arguments; ``.`` is the repository that contains the current
    folder. With ``-R REPO`` the program runs in the root of that repository, so
    that ``.`` is REPO.

    Examples::

      hg repackbench --help
      hg repackbench size .
      hg repackbench bench . --codec zstd:3 --codec lz4
      hg repackbench convert --codec zlib:9 . -o ../smaller

    The program is the one in ``repackbench.program``, the one that was installed
    with this extension, or the one on the PATH.
    """
    words = [_program(ui)] + list(arguments)
    folder = _repository_root(_named_repository[0]) if _named_repository[0] else None
    return ui.system(
        b' '.join(procutil.shellquote(word) for word in words), cwd=folder, blockedtag=b'repackbench'
    )


# hg does not parse the arguments of a shell alias, which it recognizes by this
# attribute: the options are the program's.
repackbench.shell = True

# The value of -R, if the command is a shell alias.
_named_repository = [None]


def _note_repository(orig, lui, ui, args):
    """look for -R, which hg removes from the arguments of a shell alias"""
    run = orig(lui, ui, args)
    if run is not None:
        early_options = dispatch._earlysplitopts(args)[0]
        named = [value for (name, value) in early_options if name in (b'-R', b'--repo', b'--repository')]
        _named_repository[0] = named[-1] if named else None
    return run


def _repository_root(named):
    """the folder of the repository given with -R"""
    folder = util.expandpath(named)
    if not os.path.isdir(os.path.join(folder, b'.hg')):
        raise error.RepoError(_(b'repository %s not found') % folder)
    return folder


def _program(ui):
    """the program to run"""
    configured = ui.configpath(b'repackbench', b'program')
    if configured:
        return configured
    # In an installation, this extension is prefix/lib/mercurial/repackbench.
    prefix = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
    installed = os.path.join(os.path.normpath(prefix), 'bin', 'repackbench')
    if os.access(installed, os.X_OK):
        return pycompat.fsencode(installed)
    found = procutil.findexe(b'repackbench')
    if not found:
        raise error.Abort(
            _(b'repackbench: not found on PATH'),
            hint=_(b'set repackbench.program to its path if it is elsewhere'),
        )
    return found


# hg debugrepackbench --------------------------------------------------------


def _described(function):
    """the code that a function runs, according to the function itself"""
    owner = getattr(function, '__self__', None)
    if isinstance(owner, _native.Compressor):
        library = owner.writer if function.__name__ == 'compress' else owner.reader
        return 'repackbench %s: %s' % (owner.spec, library)
    return 'Mercurial: %s.%s' % (function.__module__, function.__qualname__)


def _options_of(repo):
    """the changelog's engine and the options that it passes to engines"""
    cl = repo.unfiltered().changelog
    cl = getattr(cl, '_revlog', cl)
    if hasattr(cl, 'feature_config'):
        config = cl.feature_config
        return config.compression_engine, config.compression_engine_options
    return cl._compengine, cl._compengineopts


@command(b'debugrepackbench', [], b'', optionalrepo=True)
def debugrepackbench(ui, repo):
    """show repackbench's codecs, and which code reads and writes each kind of chunk"""

    def write(line):
        ui.write(encoding.strtolocal(line) + b'\n')

    write('repackbench %s' % _native.VERSION)
    write('  in: Mercurial %s, Python %s' % (pycompat.sysstr(util.version()), sys.version.split()[0]))
    write('  native module: %s' % _native.__file__)
    write('codecs:')
    for name, levels, implementation, engine_name in _native.codecs():
        write('  %-10s  levels %-17s  engine %-7s  %s' % (name, levels, engine_name, implementation))
    current, options = _options_of(repo) if repo else (None, {})
    write('chunks, by first byte:')
    write('  u, 0x00  Mercurial: uncompressed')
    write('  x        %s' % _described(revlog._zlibdecompress))
    for header in [b'('] + [header for (_name, header) in _our_engines()]:
        reader = compression.compengines.forrevlogheader(header).revlogcompressor(options)
        shown = pycompat.sysstr(header) if header < b'\x7f' else '0x%02x' % ord(header)
        write('  %-7s  %s' % (shown, _described(reader.decompress)))
    if repo:
        writer = compression.compengines[current].revlogcompressor(options)
        write('new chunks: engine %s, %s' % (pycompat.sysstr(current), _described(writer.compress)))
        codec = options.get(CODEC_OPTION)
        if codec and _engine_of(codec) != current:
            write('  (repackbench.codec=%s is not used: it belongs to engine %s)'
                  % (pycompat.sysstr(codec), pycompat.sysstr(_engine_of(codec))))
