//! Where the guest may go when it migrates next.

use super::super::pass::Pass;
use super::wanted;
use crate::lifecycle::action::Failure;
use crate::lifecycle::migrations;

/// Gives the guest the node selector, the affinity and the tolerations of the template.
pub(super) fn follow(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let (Some(wanted), Some(instance)) = (wanted(pass), pass.instance.as_mut()) else {
        return Ok(());
    };
    let migrates = migrations::is_migrating(instance, pass.now);
    let spec = &mut instance.spec;
    if wanted.node_selector != spec.node_selector || wanted.affinity != spec.affinity {
        if migrates {
            return Err(Failure::new("AffinityChangeError", "the guest migrates; where it may go changes when it has arrived"));
        }
        spec.node_selector = wanted.node_selector;
        spec.affinity = wanted.affinity;
    }
    if wanted.tolerations != spec.tolerations {
        if migrates {
            return Err(Failure::new("TolerationsChangeError", "the guest migrates; what it tolerates changes when it has arrived"));
        }
        spec.tolerations = wanted.tolerations;
    }
    Ok(())
}
