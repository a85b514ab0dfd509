//! Field paths: cheap to extend while rules walk an object, printed only where something is wrong.

use std::fmt;

/// The place of a field in an object. It borrows its parent, so walking an object allocates nothing.
///
/// A key may itself be a dotted path: `spec.key("domain.devices")`.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The whole object, which prints as nothing.
    pub const fn root() -> Self {
        Self::new("")
    }

    /// The path that reads like this.
    pub const fn new(path: &'a str) -> Self {
        Self { parent: None, segment: Segment::Key(path) }
    }

    /// A field of what is here.
    pub const fn key<'b>(&'b self, name: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), segment: Segment::Key(name) }
    }

    /// An element of the list that is here.
    pub const fn index<'b>(&'b self, index: usize) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), segment: Segment::Index(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.segment {
            Segment::Index(index) => write!(f, "[{index}]"),
            Segment::Key("") => Ok(()),
            Segment::Key(name) if self.parent.is_none_or(Path::prints_nothing) => f.write_str(name),
            Segment::Key(name) => write!(f, ".{name}"),
        }
    }
}

impl Path<'_> {
    fn prints_nothing(&self) -> bool {
        matches!(self.segment, Segment::Key("")) && self.parent.is_none_or(Path::prints_nothing)
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        path.to_string()
    }
}

impl From<&Path<'_>> for String {
    fn from(path: &Path<'_>) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_people_write_it() {
        let root = Path::root();
        let devices = root.key("spec.domain.devices");
        let disks = devices.key("disks");
        assert_eq!(disks.index(0).key("name").to_string(), "spec.domain.devices.disks[0].name");
        assert_eq!(Path::new("spec").key("volumes").index(2).to_string(), "spec.volumes[2]");
        assert_eq!((root.to_string(), root.index(1).to_string()), (String::new(), "[1]".to_owned()));
    }
}
