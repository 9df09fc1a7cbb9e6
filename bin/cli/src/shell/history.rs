//! What was typed before, kept in a file of the user's.

use std::path::PathBuf;

use rustyline::Editor;
use rustyline::history::FileHistory;

use super::helper::Helper;

/// Where lines are kept; nowhere if the user has no folder for such things.
pub(super) struct History(Option<PathBuf>);

impl History {
    /// Brings back the lines of earlier times.
    pub(super) fn load(editor: &mut Editor<Helper, FileHistory>) -> Self {
        let path = path();
        if let Some(path) = &path {
            // There is none yet, or it cannot be read: then the shell begins without one.
            let _ = editor.load_history(path);
        }
        Self(path)
    }

    /// Keeps a line. A shell that cannot is still a shell.
    pub(super) fn add(&self, editor: &mut Editor<Helper, FileHistory>, line: &str) {
        if !matches!(editor.add_history_entry(line), Ok(true)) {
            return;
        }
        if let Some(path) = &self.0 {
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = editor.append_history(path);
        }
    }
}

/// `keyloom/history` in the folder for what programs remember.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_STATE_HOME")
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(folder.join("keyloom/history"))
}
