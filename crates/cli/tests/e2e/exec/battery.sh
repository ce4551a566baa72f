# A day's work, one command line each, in the work tree of a repository. `$OUT` is a folder beside it.
# The same lines run on an ordinary repository and on variants, and have to say and leave the same.

# Looking around.
git status --porcelain
git log --oneline -5
git log --stat -3
git log -p -2
git log --graph --all --format=%h -20
git log -Sfoo --format=%h -10
git log -G'[0-9]{3}' --format=%h -5
git log --follow --format=%h -3 -- second.txt
git show HEAD
git show HEAD~1:second.txt
git diff HEAD~1 HEAD
git diff --stat HEAD~2
git diff --binary HEAD~1
git blame second.txt
git shortlog -s HEAD
git describe --always
git name-rev HEAD~1
git rev-parse HEAD HEAD~1 HEAD^{tree}
git rev-list --all --count
git rev-list --objects --all
git rev-list --disk-usage=human --all > $OUT/disk-usage
git ls-files -s
git ls-tree -r -l HEAD
git cat-file -p HEAD
git cat-file -t HEAD^{tree}
git cat-file -s HEAD:second.txt
git cat-file --batch-all-objects --batch-check
git cat-file --batch-all-objects --batch --unordered | wc -c
git for-each-ref
git show-ref
git grep -n foo HEAD
git whatchanged --i-still-use-this -2 2> /dev/null || git log --raw -2
git fsck --full --strict
git count-objects | cut -d, -f1
git verify-pack .git/objects/pack/*.idx
git branch --all
git tag
git stash list
git reflog
git remote -v
git check-ignore x || true
git archive HEAD | git get-tar-commit-id

# Changing files.
echo one > one.txt; git add one.txt; git commit -q -m one
mkdir -p sub/folder; echo two > sub/folder/two.txt
cd sub/folder; git status --porcelain; git add -A; git commit -q -m 'two, from a subfolder'; git show --stat --format=%s
cd sub/folder; git rev-parse --show-toplevel --show-prefix --git-dir
git mv one.txt uno.txt; git commit -q -m moved
git rm -q sub/folder/two.txt; git commit -q -m removed
echo more >> uno.txt; git commit -q -a --amend -m 'moved and more'
git log --oneline -4
seq 1 20000 > large.txt; git add large.txt; git commit -q -m large
printf 'a\000b' > binary; git add binary; git commit -q -m binary
git commit -q --allow-empty -m empty
chmod +x uno.txt; git commit -q -a -m mode; git diff HEAD~1 --summary
ln -s uno.txt link; git add link; git commit -q -m link
git update-index --assume-unchanged uno.txt; git ls-files -v uno.txt; git update-index --no-assume-unchanged uno.txt
git hash-object -w --stdin < large.txt
git write-tree
echo hello | git hash-object --stdin -w | git cat-file --batch-check
git ls-tree HEAD | git mktree
git commit-tree -m 'by hand' -p HEAD HEAD^{tree} > $OUT/commit; cat $OUT/commit
git update-ref refs/heads/by-hand $(cat $OUT/commit); git log --oneline -1 by-hand
git restore --source=HEAD~3 large.txt || true
git status --porcelain; git restore .
git clean -n; git clean -fdq
git notes add -m 'a note' HEAD; git notes show HEAD; git log -1 --notes
git tag light; git tag -a -m annotated v1; git describe; git tag -n; git cat-file -p v1
git replace HEAD~2 HEAD~3; git log --oneline -4; git replace -d $(git rev-parse HEAD~2) || git replace -l
git replace -l | xargs -r git replace -d

# Branches.
git switch -q -c topic HEAD~3; echo t > topic.txt; git add .; git commit -q -m topic
git switch -q -; git merge -q --no-edit topic; git log --oneline --merges -1
git switch -q -c ff HEAD~1; git merge -q --ff-only main 2>&1 || git merge --ff-only master; git rev-parse HEAD
git switch -q -c left v1; echo left > uno.txt; git commit -q -a -m left
git switch -q -c right v1; echo right > uno.txt; git commit -q -a -m right
git merge left || git status --porcelain
git merge --abort; git status --porcelain
git merge left || true
echo both > uno.txt; git add uno.txt; git commit -q -m 'merged by hand'; git log --format=%p -1
git diff HEAD^1 HEAD; git show -c HEAD; git show --cc HEAD; git show -m --stat HEAD
git merge-base left right; git merge-tree left v1 || true
git range-diff v1..left v1..right
git cherry left right || true
git branch -m right renamed; git branch --contains v1; git branch -d ff || git branch -D ff
git branch -c renamed copied; git branch --list 'cop*'; git branch -q -D copied

# Rebases over several commands.
git switch -q -c rebased left~1; echo r1 > r1; git add r1; git commit -q -m r1; echo r2 > uno.txt; git commit -q -a -m r2
git rebase left || git status --porcelain=v2 --branch
git rebase --show-current-patch | head -5
git rebase --abort; git log --oneline -2
git rebase left || true
echo resolved > uno.txt; git add uno.txt; GIT_EDITOR=true git rebase --continue
git log --oneline -4; ls .git | grep rebase || true
echo fix > r1; git commit -q -a --fixup HEAD~1; GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~3; git log --oneline -3
git rebase -q --onto v1 left || git rebase --abort; git log --oneline -3
git rebase -q --exec 'git log --oneline -1' HEAD~2
GIT_SEQUENCE_EDITOR='sed -i -e 1s/pick/edit/' git rebase -q -i HEAD~2 || true
echo edited > edited; git add edited; git commit -q --amend --no-edit; git rebase --continue 2> /dev/null; git log --oneline -2
git cherry-pick topic; git log --oneline -1
git cherry-pick left || git cherry-pick --abort; git status --porcelain
git cherry-pick left || true
git checkout --theirs uno.txt; git add uno.txt; GIT_EDITOR=true git cherry-pick --continue; git log --oneline -1
git cherry-pick topic~1..topic || git cherry-pick --skip; git status --porcelain
git revert --no-edit HEAD; git revert --no-edit HEAD~1 || git revert --abort
git format-patch -o $OUT/patches -3 -q; ls $OUT/patches
git switch -q -c mailed HEAD~3; git am -q $OUT/patches/*; git log --oneline -3
git switch -q -c mailed-again left~1; git am -q $OUT/patches/* || git am --show-current-patch=diff | head -3
git am --abort || true; git status --porcelain
git diff HEAD~1 > $OUT/diff; git apply -R $OUT/diff; git diff --stat; git checkout -q .

# Stashes and reflogs.
git switch -q rebased
echo s1 >> uno.txt; git stash push -q -m first
echo s2 >> uno.txt; git stash push -q -m second
echo s3 > untracked; git stash push -q -u -m third
git stash list; git stash show -p 'stash@{2}'; git show 'stash@{0}^3' --stat
git stash apply -q 'stash@{1}'; git diff; git checkout -q .
git stash pop -q; git status --porcelain; git clean -fdq
git stash branch from-stash 'stash@{1}'; git stash list; git status --porcelain; git commit -q -a -m stashed
git stash drop -q 'stash@{0}' || true; git stash list
echo s4 >> uno.txt; git stash -q; echo s5 >> uno.txt; git stash -q; echo s6 >> uno.txt; git stash -q; git stash list
git reset -q --hard HEAD~1; git reset -q --hard 'HEAD@{1}'; git log --oneline -1
git reflog -10; git log -g --format=%gd:%gs -5 HEAD
git rev-parse 'HEAD@{2}' '@{-1}' || true
git gc -q --prune=now; git stash list; git stash show -p 'stash@{2}'; git rev-parse 'HEAD@{1}'; git fsck --full
git reflog expire --expire=now --dry-run --all
git reset -q --soft HEAD~1; git commit -q -m again; git reset -q HEAD~1; git status --porcelain; git add -A; git commit -q -m 'and again'

# A detached HEAD.
git checkout -q --detach; echo d > detached; git add detached; git commit -q -m detached
git prune; git gc -q --prune=now; git log --oneline -1
git switch -q -c kept; git checkout -q --detach HEAD~1; git symbolic-ref HEAD || git rev-parse HEAD
git switch -q kept

# Bisecting.
git bisect start -q HEAD v1 > $OUT/bisect; git bisect run sh -c 'test ! -e detached' | grep 'first bad commit' | head -1; git bisect reset -q 2> /dev/null || git bisect reset

# Work trees.
git worktree add -q $OUT/linked HEAD~1; git worktree list
cd $OUT/linked; echo l > linked.txt; git add linked.txt; git commit -q -m linked; git log --oneline -1; git status --porcelain
git worktree add -q -b in-tree $OUT/second; cd $OUT/second; echo i > i; git add i; git commit -q -m in-tree; git switch -q -c further
cd $OUT/second; git stash list; git rebase -q HEAD~1; git gc -q; git log --oneline -1
git worktree lock $OUT/second; git worktree list --porcelain | grep -c locked; git worktree unlock $OUT/second
git worktree move $OUT/second $OUT/moved; cd $OUT/moved; git status --porcelain
git gc -q --prune=now; git fsck; cd $OUT/linked; git log --oneline -1
git worktree remove $OUT/moved; git worktree prune; git worktree list
git log --oneline --all -3; git branch --all

# Submodules.
git init -q $OUT/inner; cd $OUT/inner; echo inner > inner; git add .; git commit -q -m inner
git -c protocol.file.allow=always submodule --quiet add ../out/inner part; git commit -q -m 'a part'; git submodule status
cd part; echo changed > inner; git commit -q -a -m changed; git log --oneline
git diff --submodule=log; git commit -q -a -m 'a newer part'; git submodule foreach -q 'git log --oneline -1'
git submodule deinit -q -f part; git -c protocol.file.allow=always submodule update -q --init; git submodule status
git rm -q part; git commit -q -m 'no part'

# To and from others.
git init -q --bare $OUT/remote.git; git remote add origin $OUT/remote.git; git push -q origin --all; git push -q origin --tags
cd $OUT/remote.git; git fsck --full; git for-each-ref --format="%(objectname)"
git clone -q $OUT/remote.git $OUT/clone; cd $OUT/clone; echo c > from-clone; git add .; git commit -q -m 'from a clone'; git push -q
git fetch -q; git branch -r; git log --oneline -1 origin/HEAD 2> /dev/null || git log --oneline -1 origin/kept
git pull -q --ff-only origin kept || git pull -q --rebase origin kept; git log --oneline -1
git clone -q . $OUT/local; cd $OUT/local; git fsck --full --no-dangling; git log --oneline -1
git clone -q --no-local --depth 3 . $OUT/shallow; cd $OUT/shallow; git fsck; git rev-list --count HEAD; git fetch -q --unshallow; git rev-list --count HEAD
git clone -q --mirror file://$PWD $OUT/mirror; cd $OUT/mirror; git fsck; git rev-list --all --count
git clone -q --filter=blob:none --no-checkout file://$PWD $OUT/partial 2> /dev/null; cd $OUT/partial; git rev-list --count HEAD
git bundle create -q $OUT/all.bundle --all; git bundle verify -q $OUT/all.bundle; git clone -q $OUT/all.bundle $OUT/bundled; cd $OUT/bundled; git fsck
git bundle create -q $OUT/some.bundle HEAD~2..HEAD; git bundle list-heads $OUT/some.bundle
git ls-remote . | head -5; git ls-remote origin | head -5
echo HEAD | git pack-objects --revs --stdout -q > $OUT/sent.pack; git index-pack $OUT/sent.pack > /dev/null; git verify-pack $OUT/sent.pack
git fast-export --all > $OUT/exported; git init -q --bare $OUT/imported; git -C $OUT/imported fast-import --quiet < $OUT/exported; git -C $OUT/imported fsck
printf 'blob\nmark :1\ndata 4\nabc\n\ncommit refs/heads/imported\ncommitter a <a@b> 1112911993 +0000\ndata 1\nx\nM 644 :1 f\n\n' | git fast-import --quiet; git show --stat --format=%s imported
git archive --format=tar HEAD > $OUT/tar; tar -tf $OUT/tar | head -3
git request-pull v1 . HEAD > $OUT/request 2> /dev/null || true
git remote rename origin up; git remote set-head up kept || true; git remote prune up; git remote remove up

# Configuration.
git config user.email someone@example.org; git config --get user.email
git config --add remote.x.url /x; git config --rename-section remote.x remote.y; git config --remove-section remote.y
git config core.repositoryformatversion 0; git status --porcelain
git init -q .; git status --porcelain
git config gc.writeCommitGraph true; git config --unset gc.writeCommitGraph; git config --list --local | grep -c .
GIT_EDITOR='sed -i -e s/example.org/example.com/' git config --edit; git config user.email
git config set user.name Someone 2> /dev/null || git config user.name Someone; git config user.name

# Maintenance.
git repack -q; git count-objects | cut -d, -f1
git repack -adq; git fsck --full; git count-objects | cut -d, -f1
git repack -adFq --depth=20; git fsck --full
git repack -q --geometric=2 -d; git fsck
git gc -q; git gc -q --aggressive; git gc -q --no-cruft --prune=now; git fsck
git repack -adq --cruft --cruft-expiration=never 2> /dev/null || git repack -adq; git fsck
git multi-pack-index write; git multi-pack-index verify; git multi-pack-index repack; git multi-pack-index expire
git commit-graph write --reachable --changed-paths; git commit-graph verify; git log --oneline -3 -- uno.txt
git repack -adbq; git rev-list --use-bitmap-index --objects --all | sort | head -5; git rev-list --use-bitmap-index --count --all
git pack-refs --all; git for-each-ref | wc -l; git prune-packed; git prune
git maintenance run --task=gc --quiet || true; git maintenance run --task=loose-objects --task=incremental-repack --quiet; git fsck
git repack -adq -A --unpack-unreachable=now; git count-objects | cut -d, -f1
git unpack-objects -q < $OUT/sent.pack; git count-objects | cut -d' ' -f1 | grep -c .
git verify-pack -v .git/objects/pack/*.idx | grep -c commit
git index-pack --strict $OUT/sent.pack > /dev/null; git index-pack --stdin < $OUT/sent.pack > /dev/null; git fsck
git sparse-checkout set --no-cone uno.txt; ls; git sparse-checkout disable; git status --porcelain
git rerere status; git checkout -q -f HEAD; git read-tree -m -u HEAD; git status --porcelain
git update-server-info; git rev-list --all --count
git log --all --format=%H | sort | head -3
