//! A folder for a test, gone when the test is over.

use std::path::Path;

use super::scratch::Scratch;

pub(crate) struct TestFolder(Scratch);

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self(Scratch::new(&std::env::temp_dir()).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}
