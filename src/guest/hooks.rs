//! Hook sidecars: which of them are called at which point, in which order and by which version.

/// A point in a guest's life at which sidecars are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the domain is defined: it may be changed.
    OnDefineDomain,
    /// Before the disk for cloud-init is made: its data may be changed.
    PreCloudInitIso,
    /// After the guest has ended.
    Shutdown,
}

impl Point {
    /// Its name, as sidecars write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDefineDomain => "OnDefineDomain",
            Self::PreCloudInitIso => "PreCloudInitIso",
            Self::Shutdown => "Shutdown",
        }
    }

    /// The first version that has it.
    fn since(self) -> Version {
        match self {
            Self::OnDefineDomain => Version::V1Alpha1,
            Self::PreCloudInitIso => Version::V1Alpha2,
            Self::Shutdown => Version::V1Alpha3,
        }
    }
}

/// A version of the calls, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Domains can be changed.
    V1Alpha1,
    /// Cloud-init's data as well.
    V1Alpha2,
    /// And sidecars are told of the end.
    V1Alpha3,
}

/// The versions, the best first.
const VERSIONS: [(Version, &str); 3] = [(Version::V1Alpha3, "v1alpha3"), (Version::V1Alpha2, "v1alpha2"), (Version::V1Alpha1, "v1alpha1")];

/// A point that a sidecar wants to be called at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The point's name.
    pub point: String,
    /// Higher ones are called first.
    pub priority: i32,
}

/// What a sidecar says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name.
    pub name: String,
    /// The versions that it knows.
    pub versions: Vec<String>,
    /// Where it wants to be called.
    pub points: Vec<Subscription>,
}

/// A sidecar of a version that nobody here knows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it knows the versions {0:?} of hooks, of which one must be v1alpha1, v1alpha2 or v1alpha3")]
pub struct UnknownVersion(Vec<String>);

impl Introduction {
    /// The newest version that both sides know.
    ///
    /// # Errors
    /// There is none.
    pub fn version(&self) -> Result<Version, UnknownVersion> {
        let known = VERSIONS.iter().find(|(_, name)| self.versions.iter().any(|version| version == name));
        known.map(|(version, _)| *version).ok_or_else(|| UnknownVersion(self.versions.clone()))
    }

    /// With which priority it is called at a point; `None`: not at all, since it does not want to be, or does not know
    /// how.
    fn priority(&self, point: Point) -> Option<i32> {
        let wanted = self.points.iter().filter(|p| p.point == point.as_str()).map(|p| p.priority).max()?;
        self.version().is_ok_and(|version| version >= point.since()).then_some(wanted)
    }
}

/// Who is called at a point, in order: those of higher priority first, then by name, then as they stand.
pub fn called(introductions: &[Introduction], point: Point) -> Vec<usize> {
    let wanting = introductions.iter().enumerate().filter_map(|(i, one)| Some((-i64::from(one.priority(point)?), &one.name, i)));
    let mut wanting: Vec<_> = wanting.collect();
    wanting.sort();
    wanting.into_iter().map(|(_, _, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sidecar(name: &str, version: &str, points: &[(Point, i32)]) -> Introduction {
        let points = points.iter().map(|(point, priority)| Subscription { point: point.as_str().to_owned(), priority: *priority });
        Introduction { name: name.to_owned(), versions: vec![version.to_owned()], points: points.collect() }
    }

    #[test]
    fn the_newest_version_that_both_know_is_spoken() {
        for (versions, expected) in [
            (&["v1alpha1"][..], Some(Version::V1Alpha1)),
            (&["v1alpha1", "v1alpha3", "v9"], Some(Version::V1Alpha3)),
            (&["v1alpha2", "v1alpha1"], Some(Version::V1Alpha2)),
            (&["v1"], None),
            (&[], None),
        ] {
            let one = Introduction { versions: versions.iter().map(|v| (*v).to_owned()).collect(), ..Introduction::default() };
            assert_eq!(one.version().ok(), expected, "{versions:?}");
        }
    }

    #[test]
    fn priority_comes_before_the_name_and_nobody_is_called_who_does_not_know_the_point() {
        let all = [
            sidecar("b", "v1alpha1", &[(Point::OnDefineDomain, 0), (Point::PreCloudInitIso, 9)]),
            sidecar("a", "v1alpha2", &[(Point::OnDefineDomain, 0), (Point::PreCloudInitIso, 1), (Point::Shutdown, 1)]),
            sidecar("z", "v1alpha3", &[(Point::OnDefineDomain, 5), (Point::Shutdown, i32::MIN)]),
            sidecar("a", "v1alpha3", &[(Point::PreCloudInitIso, 2)]),
            sidecar("x", "v7", &[(Point::OnDefineDomain, 100)]),
        ];
        for (point, expected) in [(Point::OnDefineDomain, &[2, 1, 0][..]), (Point::PreCloudInitIso, &[3, 1]), (Point::Shutdown, &[2])] {
            assert_eq!(called(&all, point), expected, "{point:?}");
        }
    }
}
