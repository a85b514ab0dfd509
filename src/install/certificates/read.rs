//! What certificates say of themselves.

use jiff::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;
use x509_parser::time::ASN1Time;

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Its text.
    pub pem: String,
    /// When it begins to count.
    pub not_before: Timestamp,
    /// When it ends.
    pub not_after: Timestamp,
    /// What its key is known by.
    pub key: Vec<u8>,
    /// What the key that signed it is known by.
    pub signer: Vec<u8>,
    /// The name of its subject.
    pub subject: String,
    /// The names that a server is reached by, in order.
    pub names: Vec<String>,
}

impl Certificate {
    /// Every certificate of a text. What is none is passed over: it vouches for nothing.
    pub fn all(text: &str) -> Vec<Self> {
        let blocks = Pem::iter_from_buffer(text.as_bytes()).filter_map(Result::ok).filter(|block| block.label == "CERTIFICATE");
        blocks.filter_map(|block| Self::new(&block.parse_x509().ok()?, &block.contents)).collect()
    }

    /// The first certificate of a text.
    pub fn first(text: &str) -> Option<Self> {
        Self::all(text).into_iter().next()
    }

    fn new(certificate: &X509Certificate<'_>, der: &[u8]) -> Option<Self> {
        let (mut key, mut signer, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for extension in certificate.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => key = id.0.to_vec(),
                ParsedExtension::AuthorityKeyIdentifier(id) => {
                    signer = id.key_identifier.as_ref().map(|id| id.0.to_vec()).unwrap_or_default();
                }
                ParsedExtension::SubjectAlternativeName(all) => {
                    names = all
                        .general_names
                        .iter()
                        .filter_map(|name| if let GeneralName::DNSName(name) = name { Some((*name).to_owned()) } else { None })
                        .collect();
                }
                _ => {}
            }
        }
        names.sort();
        let subject = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned();
        Some(Self {
            pem: pem(der),
            not_before: time(certificate.validity().not_before)?,
            not_after: time(certificate.validity().not_after)?,
            key,
            signer,
            subject,
            names,
        })
    }
}

fn time(time: ASN1Time) -> Option<Timestamp> {
    Timestamp::from_second(time.timestamp()).ok()
}

/// The usual text of a certificate.
fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        // Base64 is ASCII, so that every place is between two characters
        let (line, more) = rest.split_at(rest.len().min(64));
        lines.push_str(line);
        lines.push('\n');
        rest = more;
    }
    lines.push_str("-----END CERTIFICATE-----\n");
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_passed_over() {
        assert!(Certificate::all("").is_empty());
        assert!(Certificate::all("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_empty());
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["b".to_owned(), "a".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "me");
        let text = params.self_signed(&key).unwrap().pem();
        let both = format!("junk\n{text}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let read = Certificate::all(&both);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].subject.as_str(), &read[0].names[..]), ("me", &["a".to_owned(), "b".to_owned()][..]));
        assert_eq!(Certificate::first(&read[0].pem).unwrap(), read[0]);
    }
}
