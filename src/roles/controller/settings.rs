//! The configuration of the cluster, live: what the KubeVirt object says counts from the moment that it says it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kubevirt_rs::api::names;
use kubevirt_rs::api::v1::{KubeVirt, KubeVirtConfiguration};
use kubevirt_rs::config::{ClusterConfig, ConfigError};

/// What the controllers go by.
pub(super) struct Settings {
    current: ArcSwap<Effective>,
}

/// A configuration and what else of the KubeVirt object counts.
pub(super) struct Effective {
    /// The configuration.
    pub(super) config: ClusterConfig,
    /// The value of the annotation that turns off the hooks of backups.
    pub(super) skip_backup_hooks: Option<String>,
    /// The KubeVirt object that it was made of, so that one can tell whether another one says something else.
    source: Option<KubeVirt>,
}

impl Default for Settings {
    fn default() -> Self {
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        Self { current: ArcSwap::from_pointee(Effective { config, skip_backup_hooks: None, source: None }) }
    }
}

impl Settings {
    /// What counts now. A pass keeps what it began with.
    pub(super) fn current(&self) -> Arc<Effective> {
        self.current.load_full()
    }

    /// Takes over what the object says; whether that is something new. What cannot be used changes nothing.
    pub(super) fn take(&self, kubevirt: &KubeVirt) -> Result<bool, ConfigError> {
        let counts = relevant(kubevirt);
        if self.current.load().source.as_ref() == Some(&counts) {
            return Ok(false);
        }
        let annotations = kubevirt.metadata.annotations.clone().unwrap_or_default();
        let mut config = ClusterConfig::checked(&kubevirt.spec.configuration)?.with_annotations(&annotations)?;
        let configured = kubevirt.spec.configuration.architecture_configuration.as_ref();
        let named = configured.is_some_and(|a| !a.default_architecture.is_empty());
        if !named && !kubevirt.status.default_architecture.is_empty() {
            config = config.with_default_architecture(&kubevirt.status.default_architecture);
        }
        let skip_backup_hooks = annotations.get(names::SKIP_BACKUP_HOOKS_ANNOTATION).cloned();
        self.current.store(Arc::new(Effective { config, skip_backup_hooks, source: Some(counts) }));
        Ok(true)
    }
}

/// The object without what says nothing about the configuration, such as conditions.
fn relevant(kubevirt: &KubeVirt) -> KubeVirt {
    let mut counts = KubeVirt::default();
    counts.metadata.annotations.clone_from(&kubevirt.metadata.annotations);
    counts.spec.configuration.clone_from(&kubevirt.spec.configuration);
    counts.status.default_architecture.clone_from(&kubevirt.status.default_architecture);
    counts
}

#[cfg(test)]
mod tests {
    use kubevirt_rs::config::Gate;

    use super::*;

    fn kubevirt(text: &str) -> KubeVirt {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn what_the_object_says_counts_and_what_cannot_be_used_does_not() {
        let settings = Settings::default();
        let gate = "{spec: {configuration: {developerConfiguration: {featureGates: [Root]}}}, status: {defaultArchitecture: arm64}}";
        assert_eq!(settings.take(&kubevirt(gate)), Ok(true));
        assert!(settings.current().config.enabled(Gate::Root));
        assert_eq!(settings.current().config.default_architecture(), "arm64");
        let observed = "{spec: {configuration: {developerConfiguration: {featureGates: [Root]}}}, status: {defaultArchitecture: arm64, phase: Deployed}}";
        assert_eq!(settings.take(&kubevirt(observed)), Ok(false));
        assert!(settings.take(&kubevirt("{spec: {configuration: {imagePullPolicy: Sometimes}}}")).is_err());
        assert!(settings.current().config.enabled(Gate::Root));
        assert_eq!(settings.take(&kubevirt("{spec: {configuration: {}}}")), Ok(true));
        assert!(!settings.current().config.enabled(Gate::Root));
    }
}
