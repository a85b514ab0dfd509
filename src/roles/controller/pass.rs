//! One pass over one object.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kubevirt_rs::lifecycle::action::Action;
use kubevirt_rs::lifecycle::{node, pool, replicaset, vm, vmi};

use super::Controller;
use super::apply::{Scene, Versions};
use super::item::Item;
use crate::cluster::{Error, Key, reference};

/// When to look again after own writes that were not seen yet, in case their watch event never comes.
const UNSEEN: Duration = Duration::from_secs(1);

/// What came of a pass.
enum Outcome {
    /// Everything was done.
    Done,
    /// Something was not: once more, later.
    Again,
}

impl Controller {
    /// Looks at an item and does what is to be done about it.
    pub(super) async fn pass(&self, item: Item) {
        let item = &item;
        if !self.expectations.met(item) {
            self.queue.add_after(item.clone(), UNSEEN);
            return;
        }
        let outcome = match item {
            Item::Machine(key) => self.machine(item, key).await,
            Item::Instance(key) => self.instance(item, key).await,
            Item::Set(key) => self.set(item, key).await,
            Item::Pool(key) => self.pool(item, key).await,
            Item::Node(name) => self.node(item, name).await,
        };
        match outcome {
            Ok(Outcome::Done) => self.queue.forget(item),
            Ok(Outcome::Again) => self.queue.add_failed(item.clone()),
            Err(error) => {
                // Someone else has written meanwhile: that is no fault, the next pass sees it.
                if error.is_conflict() {
                    tracing::debug!("{item}: {error}");
                } else {
                    tracing::warn!("{item}: {error}");
                }
                self.queue.add_failed(item.clone());
            }
        }
    }

    async fn machine(&self, item: &Item, key: &Key) -> Result<Outcome, Error> {
        let Some(observed) = self.observe_machine(key).await? else {
            return Ok(Outcome::Done);
        };
        let effective = self.settings.current();
        let (config, now) = (&effective.config, (self.outside.now)());
        let plan = vm::plan(&observed, config, now);
        let versions = Versions::of(&observed.machine.metadata, observed.instance.as_ref().map(|i| &i.metadata));
        let scene = Scene { item, key, about: reference(&observed.machine), effective: &effective, instance: None, versions };
        self.carry_out(&scene, &plan, |action, error| vm::failed(&observed, config, now, action, error)).await
    }

    async fn instance(&self, item: &Item, key: &Key) -> Result<Outcome, Error> {
        let effective = self.settings.current();
        let Some(observed) = self.observe_instance(key, &effective).await? else {
            return Ok(Outcome::Done);
        };
        let (config, now) = (&effective.config, (self.outside.now)());
        let plan = vmi::plan(&observed, config, now);
        let versions = Versions::of(&observed.instance.metadata, None);
        let scene = Scene { item, key, about: reference(&observed.instance), effective: &effective, instance: Some(&observed), versions };
        self.carry_out(&scene, &plan, |action, error| vmi::failed(&observed, config, now, action, error)).await
    }

    /// Carries a plan out. What fails ends it, and is told by what `told` makes of it, unless it is only that someone else
    /// was faster.
    async fn carry_out(&self, scene: &Scene<'_>, plan: &[Action], told: impl Fn(&Action, &str) -> Vec<Action>) -> Result<Outcome, Error> {
        for action in plan {
            let Err(error) = self.apply(scene, action).await else { continue };
            if error.is_conflict() {
                return Err(error);
            }
            if error.is_of_a_namespace_that_goes() {
                // Nothing can be made there any more, and what is there is taken away.
                tracing::debug!("{}: {error}", scene.item);
                return Ok(Outcome::Done);
            }
            tracing::warn!("{}: {error}", scene.item);
            for action in told(action, &error.to_string()) {
                self.apply(scene, &action).await?;
            }
            return Ok(Outcome::Again);
        }
        Ok(Outcome::Done)
    }

    async fn set(&self, item: &Item, key: &Key) -> Result<Outcome, Error> {
        let Some(observed) = self.observe_set(key) else {
            return Ok(Outcome::Done);
        };
        let now = (self.outside.now)();
        let plan = match replicaset::plan(&observed, now) {
            Ok(plan) => plan,
            Err(invalid) => {
                tracing::warn!("{item}: {invalid}");
                return Ok(Outcome::Done);
            }
        };
        let effective = self.settings.current();
        let scene = Scene {
            item,
            key,
            about: reference(&observed.set),
            effective: &effective,
            instance: None,
            versions: Versions::of(&observed.set.metadata, None),
        };
        for action in &plan {
            let Err(error) = self.apply_to_set(&scene, action).await else { continue };
            if error.is_conflict() {
                return Err(error);
            }
            tracing::warn!("{item}: {error}");
            for action in replicaset::failed(&observed, now, action, &error.to_string()) {
                self.apply_to_set(&scene, &action).await?;
            }
            return Ok(Outcome::Again);
        }
        Ok(Outcome::Done)
    }

    async fn pool(&self, item: &Item, key: &Key) -> Result<Outcome, Error> {
        let Some(observed) = self.observe_pool(key) else {
            let (effective, about) = (self.settings.current(), ObjectReference::default());
            let scene = Scene { item, key, about, effective: &effective, instance: None, versions: Versions::default() };
            for action in pool::left_behind(&key.name, None, &self.stores.machines.in_namespace(&key.namespace)) {
                self.apply_to_pool(&scene, &action).await?;
            }
            return Ok(Outcome::Done);
        };
        let now = (self.outside.now)();
        let plan = match pool::plan(&observed, now) {
            Ok(plan) => plan,
            Err(invalid) => {
                tracing::warn!("{item}: {invalid}");
                return Ok(Outcome::Done);
            }
        };
        let effective = self.settings.current();
        let versions = Versions::of(&observed.pool.metadata, None);
        let scene = Scene { item, key, about: reference(&observed.pool), effective: &effective, instance: None, versions };
        for action in &plan {
            let Err(error) = self.apply_to_pool(&scene, action).await else { continue };
            if error.is_conflict() {
                return Err(error);
            }
            tracing::warn!("{item}: {error}");
            for action in pool::failed(&observed, now, action, &error.to_string()) {
                self.apply_to_pool(&scene, &action).await?;
            }
            return Ok(Outcome::Again);
        }
        Ok(Outcome::Done)
    }

    async fn node(&self, item: &Item, name: &str) -> Result<Outcome, Error> {
        let observed = self.observe_node(name).await?;
        let effective = self.settings.current();
        let key = Key::new("", name);
        let about = observed.node.as_ref().map_or_else(ObjectReference::default, reference);
        let scene = Scene { item, key: &key, about, effective: &effective, instance: None, versions: Versions::default() };
        for action in node::plan(&observed, (self.outside.now)()) {
            self.apply_to_node(&scene, &action).await?;
        }
        Ok(Outcome::Done)
    }
}
