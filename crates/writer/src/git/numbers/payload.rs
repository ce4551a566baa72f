//! Payloads of commits, trees and tags, written anew with numbers or with ids.

use gix_hash::oid;
use repackbench_reader::{
    ObjectKind,
    git::{
        delta,
        numbered::{PackNumbers, expand},
        pack::PackFile,
    },
};

use super::{
    LookUp,
    delta::{Step, find_steps, write_delta},
    object::{ParsedObject, WrittenObject},
};

/// How objects name others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceForm {
    /// By id, as git does.
    Ids,
    /// Those of the same pack by number.
    Numbers,
}

impl ReferenceForm {
    /// The form in which payloads of `pack` are written anew, if they shall be numbered or not. `None` if they stay as
    /// they are.
    pub fn changed(pack: &PackFile, becomes_numbered: bool) -> Option<Self> {
        match (pack.numbers().is_some(), becomes_numbered) {
            (true, false) => Some(ReferenceForm::Ids),
            (false, true) => Some(ReferenceForm::Numbers),
            _ => None,
        }
    }
}

/// Writes payloads of one pack anew. It belongs to one thread: it owns its buffers.
#[derive(Debug)]
pub struct PayloadRewriter {
    numbers: PackNumbers,
    /// `None` if objects are written with ids.
    ids: Option<LookUp>,
    base: Rewritten,
    object: Rewritten,
    steps: Vec<Step>,
    /// The object that a new delta leads to, as it is written.
    result: Vec<u8>,
    expanded: Vec<u8>,
}

/// An object in both forms.
#[derive(Debug, Default)]
struct Rewritten {
    /// `None` as long as there is no object.
    kind: Option<ObjectKind>,
    parsed: ParsedObject,
    written: WrittenObject,
    /// Whether the written form was expanded again and compared.
    is_checked: bool,
}

impl PayloadRewriter {
    /// Writes payloads of `pack` in `form`.
    pub fn new(pack: &PackFile, form: ReferenceForm) -> Self {
        PayloadRewriter {
            numbers: PackNumbers::new(pack.entry_count(), pack.hash_kind()),
            ids: (form == ReferenceForm::Numbers).then(|| LookUp::new(pack)),
            base: Rewritten::default(),
            object: Rewritten::default(),
            steps: Vec::new(),
            result: Vec::new(),
            expanded: Vec::new(),
        }
    }

    /// Replaces `payload` by that of `object`, an object of `kind` in `pack` that is no blob: by a delta if there is a
    /// `base`, an object of the same kind. Both are in git's own form.
    pub fn rewrite(
        &mut self,
        pack: &PackFile,
        kind: ObjectKind,
        base: Option<&[u8]>,
        object: &[u8],
        payload: &mut Vec<u8>,
    ) {
        if let Some(base) = base.filter(|base| !self.base.is(kind, base)) {
            // In most packs a delta follows its base.
            if self.object.is(kind, base) {
                std::mem::swap(&mut self.base, &mut self.object);
            } else {
                self.base.set(pack, kind, base, &self.numbers, self.ids.as_mut());
            }
        }
        self.object.set(pack, kind, object, &self.numbers, self.ids.as_mut());
        match base {
            Some(_) => {
                find_steps(&self.base.parsed, &self.object.parsed, 1, &mut self.steps);
                write_delta(&self.steps, &self.base.written, &self.object.written, payload);
            }
            None => {
                payload.clear();
                payload.extend_from_slice(&self.object.written.bytes);
            }
        }
    }

    /// Whether the `payload` that was written last leads to its object, from the base if it is a delta.
    pub fn leads_back(&mut self, pack: &PackFile, is_delta: bool, payload: &[u8]) -> bool {
        let PayloadRewriter { numbers, ids, base, object, result, expanded, .. } = self;
        let mut is_expanded = |rewritten: &mut Rewritten| {
            let id_at = |position| -> &oid { pack.index().oid_at_index(position) };
            let Rewritten { kind, parsed, written, is_checked } = rewritten;
            let written = &written.bytes;
            *is_checked |= match (&ids, kind) {
                (None, _) => written == parsed.content(),
                (Some(_), Some(kind)) => {
                    let result = expand(*kind, written, expanded, |bytes| numbers.take_id(bytes, id_at));
                    result.is_ok() && *expanded == parsed.content()
                }
                (Some(_), None) => false,
            };
            *is_checked
        };
        let is_result = match is_delta {
            false => payload == object.written.bytes,
            true => {
                (base.is_checked || is_expanded(base))
                    && delta::apply(&base.written.bytes, payload, result).is_ok()
                    && *result == object.written.bytes
            }
        };
        is_result && is_expanded(object)
    }
}

impl Rewritten {
    /// Whether this is the object of `kind` with `content`.
    fn is(&self, kind: ObjectKind, content: &[u8]) -> bool {
        self.kind == Some(kind) && self.parsed.content() == content
    }

    /// Replaces this object by the one of `kind` with `content`.
    fn set(
        &mut self,
        pack: &PackFile,
        kind: ObjectKind,
        content: &[u8],
        numbers: &PackNumbers,
        ids: Option<&mut LookUp>,
    ) {
        let Rewritten { parsed, written, .. } = self;
        (self.kind, self.is_checked) = (Some(kind), false);
        match ids {
            Some(ids) => {
                parsed.parse(kind, content, numbers.id_len(), |id| ids.reference(pack, id));
                parsed.write(written, |reference, bytes| numbers.put(reference.position, &reference.id, bytes));
            }
            None => {
                parsed.parse_with_ids(kind, content, numbers.id_len());
                parsed.write(written, |reference, bytes| bytes.extend_from_slice(reference.id.as_slice()));
            }
        }
    }
}
