//! A file to be written: under another name until it is complete, and compressed as its name says.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::format::Compression;
use crate::failure::Failure;

/// Where bytes end up.
enum Target {
    Standard(Stdout),
    /// A file beside the one that it becomes.
    Beside {
        file: NamedTempFile,
        path: PathBuf,
        force: bool,
    },
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => out.write(bytes),
            Self::Beside { file, .. } => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.flush(),
            Self::Beside { file, .. } => file.as_file_mut().flush(),
        }
    }
}

/// A file that is being written. Dropped before it is [finished](Self::finish), it leaves nothing.
pub(crate) struct Output(Encoder);

enum Encoder {
    Plain(BufWriter<Target>),
    Gzip(GzEncoder<BufWriter<Target>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Target>>),
}

impl Output {
    /// A file at this path; `-` is the standard output. One that is there is replaced only by `force`.
    pub(crate) fn create(path: &Path, compression: Compression, force: bool) -> Result<Self, Failure> {
        let target = if path.as_os_str() == "-" {
            Target::Standard(io::stdout())
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            // What else can be wrong says the name of a file that nobody asked for.
            let named = |error: io::Error| Failure::Failed(format!("{}: {}", path.display(), error.kind()));
            if !folder.is_dir() {
                let reason = format!("{}: there is no folder {}", path.display(), folder.display());
                return Err(Failure::Failed(reason));
            }
            let mut builder = tempfile::Builder::new();
            builder.prefix(".keyloom-export-");
            // As a new file has them, and not for its owner alone as temporary ones have.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let file = builder.tempfile_in(folder).map_err(named)?;
            Target::Beside { file, path: path.to_owned(), force }
        };
        let target = BufWriter::with_capacity(256 << 10, target);
        Ok(Self(match compression {
            Compression::None => Encoder::Plain(target),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            Compression::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(target, 0)?),
        }))
    }

    /// Ends the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let target = match self.0 {
            Encoder::Plain(target) => target,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        };
        match target.into_inner().map_err(io::IntoInnerError::into_error)? {
            Target::Standard(mut out) => Ok(out.flush()?),
            Target::Beside { file, path, force } => {
                // Else a crash may leave the name with nothing in it.
                file.as_file().sync_all()?;
                let named = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
                match named {
                    Ok(_) => Ok(()),
                    Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(taken(&path)),
                    Err(error) => Err(Failure::Failed(format!("{}: {}", path.display(), error.error))),
                }
            }
        }
    }
}

/// What there is to say of a file that is there already.
pub(crate) fn taken(path: &Path) -> Failure {
    Failure::Failed(format!("{}: there is such a file already; --force replaces it", path.display()))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Encoder::Plain(out) => out.write(bytes),
            Encoder::Gzip(out) => out.write(bytes),
            Encoder::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Encoder::Plain(out) => out.flush(),
            Encoder::Gzip(out) => out.flush(),
            Encoder::Zstd(out) => out.flush(),
        }
    }
}
