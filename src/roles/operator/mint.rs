//! Makes certificates and the secrets that hold them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubevirt_rs::api::names;
use kubevirt_rs::install::certificates::{AUTHORITY_SUBJECT, BACKDATED, Certificate, Lifetime, Lifetimes, Make, Profile, Usage, end};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use x509_parser::time::ASN1Time;

/// A certificate and its key as text.
#[derive(Clone)]
pub(super) struct Pair {
    /// The certificate.
    pub(super) certificate: String,
    /// Its key.
    pub(super) key: String,
}

/// Why a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MintError {
    /// There is nobody to sign it.
    #[error("sign the certificate of {0}: there is no authority")]
    NoAuthority(&'static str),
    /// What it is made of is of no use.
    #[error("make the certificate of {what}: {source}")]
    Make {
        /// The secret that it was for.
        what: &'static str,
        /// Why.
        source: rcgen::Error,
    },
}

/// Makes what was asked for. `authority` signs everything but an authority.
pub(super) fn make(
    make: Make,
    authority: Option<&Pair>,
    lifetimes: &Lifetimes,
    namespace: &str,
    now: Timestamp,
) -> Result<Pair, MintError> {
    let what = make.secret();
    let fault = |source| MintError::Make { what, source };
    match make {
        Make::Authority => self::authority(&lifetimes.authority, now).map_err(fault),
        Make::Leaf(profile) => {
            let authority = authority.ok_or(MintError::NoAuthority(what))?;
            leaf(profile, authority, &lifetimes.leaf, namespace, now).map_err(fault)
        }
    }
}

/// A certificate that nobody believes, to answer with before there is a better one.
pub(super) fn provisional(now: Timestamp) -> Result<Pair, MintError> {
    let lifetime = Lifetimes::new(None).leaf;
    authority(&lifetime, now).map_err(|source| MintError::Make { what: "the operator's beginning", source })
}

fn authority(lifetime: &Lifetime, now: Timestamp) -> Result<Pair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = params(AUTHORITY_SUBJECT, Vec::new(), now, end(lifetime, None, now))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn leaf(profile: &Profile, authority: &Pair, lifetime: &Lifetime, namespace: &str, now: Timestamp) -> Result<Pair, rcgen::Error> {
    let signer = Certificate::first(&authority.certificate);
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, KeyPair::from_pem(&authority.key)?)?;
    let key = KeyPair::generate()?;
    let end = end(lifetime, signer.as_ref(), now);
    let mut params = params(&profile.subject(namespace), profile.names(namespace), now, end)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![match profile.usage {
        Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
        Usage::Client => ExtendedKeyUsagePurpose::ClientAuth,
    }];
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn params(subject: &str, names: Vec<String>, now: Timestamp, end: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    let time = |time: Timestamp| ASN1Time::from_timestamp(time.as_second()).map(|time| time.to_datetime()).map_err(|_| rcgen::Error::Time);
    params.not_before = time(now.checked_sub(BACKDATED).unwrap_or(now))?;
    params.not_after = time(end)?;
    Ok(params)
}

/// The secret that holds a pair.
pub(super) fn secret(namespace: &str, name: &str, pair: &Pair) -> Secret {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([(names::MANAGED_BY_LABEL.to_owned(), names::MANAGED_BY_OPERATOR.to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(BTreeMap::from([("tls.crt".to_owned(), bytes(&pair.certificate)), ("tls.key".to_owned(), bytes(&pair.key))])),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubevirt_rs::install::certificates::{Observed, PROFILES, plan};

    #[test]
    fn what_was_made_is_what_was_wanted() {
        let (lifetimes, now) = (Lifetimes::new(None), Timestamp::from_second(1_800_000_000).unwrap());
        let authority = make(Make::Authority, None, &lifetimes, "virt", now).unwrap();
        let read = |pair: &Pair| Certificate::first(&pair.certificate).unwrap();
        let mut observed = Observed { authority: Some(read(&authority)), ..Observed::default() };
        for it in plan(&observed, &lifetimes, "virt", now) {
            let pair = make(it, Some(&authority), &lifetimes, "virt", now).unwrap();
            observed.leaves.insert(it.secret().to_owned(), read(&pair));
        }
        assert_eq!(observed.leaves.len(), PROFILES.len());
        assert_eq!(plan(&observed, &lifetimes, "virt", now), []);
        for leaf in observed.leaves.values() {
            assert_eq!(leaf.signer, read(&authority).key);
        }
    }

    #[test]
    fn nothing_is_signed_by_nobody() {
        let it = Make::Leaf(&PROFILES[0]);
        let error = make(it, None, &Lifetimes::new(None), "virt", Timestamp::UNIX_EPOCH).err().unwrap();
        assert!(matches!(error, MintError::NoAuthority(_)));
        let broken = Pair { certificate: "no certificate".to_owned(), key: "no key".to_owned() };
        assert!(matches!(make(it, Some(&broken), &Lifetimes::new(None), "virt", Timestamp::UNIX_EPOCH), Err(MintError::Make { .. })));
    }
}
