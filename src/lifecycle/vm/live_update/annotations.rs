//! Labels and annotations that a guest which runs takes over from its machine, and one that goes the other way.

use std::collections::BTreeMap;

use super::super::pass::Pass;
use crate::api::names;

/// What the descheduler is told.
const DESCHEDULER: [&str; 2] = ["descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction"];

type Map = BTreeMap<String, String>;

/// Takes over what may differ from what the guest was started with.
pub(super) fn follow(pass: &mut Pass<'_>) {
    let machine = &pass.machine;
    let Some(instance) = pass.instance.as_mut().filter(|i| i.metadata.deletion_timestamp.is_none()) else {
        return;
    };
    let template = machine.spec.template.as_ref().map(|t| &t.metadata);
    let (labels, annotations) = (template.and_then(|t| t.labels.as_ref()), template.and_then(|t| t.annotations.as_ref()));
    let patterns = |list: &[String]| list.to_vec();
    sync(&patterns(&pass.observed.followed_labels), labels, &mut instance.metadata.labels);
    let mut followed: Vec<_> = DESCHEDULER.iter().map(|k| (*k).to_owned()).collect();
    followed.extend(pass.observed.followed_annotations.iter().cloned());
    sync(&followed, annotations, &mut instance.metadata.annotations);
    sync(&[names::SKIP_BACKUP_HOOKS_ANNOTATION.to_owned()], machine.metadata.annotations.as_ref(), &mut instance.metadata.annotations);
}

/// Makes `to` have the keys of the patterns as `from` has them. A pattern is a key, or the beginning of keys and `*`; a
/// star alone is none.
fn sync(patterns: &[String], from: Option<&Map>, to: &mut Option<Map>) {
    let fits = |key: &str| {
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => !prefix.is_empty() && key.starts_with(prefix),
            None => !pattern.is_empty() && pattern == key,
        })
    };
    let wanted: Map = from.into_iter().flatten().filter(|(key, _)| fits(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
    if let Some(to) = to.as_mut() {
        to.retain(|key, _| !fits(key) || wanted.contains_key(key));
    }
    if !wanted.is_empty() {
        to.get_or_insert_default().extend(wanted);
    }
}

/// Keeps in the machine how the guest's PCI devices lie, which the handler finds out of older guests: the next start must
/// lay them out the same.
pub(super) fn keep_pci_topology(pass: &mut Pass<'_>) {
    let of_guest = pass.instance.as_ref().and_then(|i| i.metadata.annotations.clone()).unwrap_or_default();
    let Some(version) = of_guest.get(names::PCI_TOPOLOGY_VERSION_ANNOTATION).filter(|v| !v.is_empty()) else {
        return;
    };
    let Some(template) = &mut pass.machine.spec.template else {
        return;
    };
    let kept = template.metadata.annotations.as_ref().and_then(|a| a.get(names::PCI_TOPOLOGY_VERSION_ANNOTATION));
    if kept.is_none_or(String::is_empty) {
        let annotations = template.metadata.annotations.get_or_insert_default();
        annotations.insert(names::PCI_TOPOLOGY_VERSION_ANNOTATION.to_owned(), version.clone());
        if let Some(count) = of_guest.get(names::PCI_INTERFACE_SLOT_COUNT_ANNOTATION) {
            annotations.insert(names::PCI_INTERFACE_SLOT_COUNT_ANNOTATION.to_owned(), count.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_follow_in_both_directions() {
        let map = |keys: &[(&str, &str)]| keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Map>();
        let patterns = ["a".to_owned(), "v/*".to_owned(), "*".to_owned(), String::new()];
        let mut to = Some(map(&[("a", "old"), ("v/gone", "1"), ("other", "1")]));
        sync(&patterns, Some(&map(&[("a", "new"), ("v/x", "2"), ("mine", "3")])), &mut to);
        assert_eq!(to, Some(map(&[("a", "new"), ("v/x", "2"), ("other", "1")])));
        let mut none = None;
        sync(&patterns, None, &mut none);
        assert_eq!(none, None);
    }
}
