//! Who asks, as the front proxy says, and whether that user may: the API server decides, by a SubjectAccessReview.

use std::collections::BTreeMap;

use hyper::HeaderMap;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::authority::UserHeaders;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub(crate) name: String,
    /// The groups.
    pub(crate) groups: Vec<String>,
    /// What else is known.
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Reads who asks from the headers of a front proxy. They are to be believed only of one that has shown its
    /// certificate.
    pub(crate) fn from_headers(headers: &HeaderMap, names: &UserHeaders) -> Option<Self> {
        let all = |name: &String| -> Vec<String> {
            headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
        };
        let first = |names: &[String]| names.iter().map(all).find(|values| !values.is_empty());
        let name = first(&names.user)?.into_iter().next().filter(|name| !name.is_empty())?;
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            let key = names.extra.iter().find_map(|prefix| header.as_str().strip_prefix(prefix.as_str()));
            if let (Some(key), Ok(value)) = (key, value.to_str()) {
                extra.entry(unescape(key)).or_default().push(value.to_owned());
            }
        }
        Some(Self { name, groups: first(&names.group).unwrap_or_default(), extra })
    }
}

/// Keys of headers carry what headers cannot as `%2F`. What is no escape stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| tail.get(..2)).flatten();
        let escaped = escaped.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// What the API server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The user may.
    Allowed,
    /// The user may not; why, as far as the API server tells.
    Denied(String),
}

/// Asks the API server whether a user may do this.
///
/// # Errors
/// When it cannot be asked.
pub(crate) async fn review(client: &Client, user: &User, what: ResourceAttributes) -> kube::Result<Decision> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.name.clone()),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone()),
            resource_attributes: Some(what),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let review = Api::<SubjectAccessReview>::all(client.clone()).create(&PostParams::default(), &review).await?;
    let status = review.status.unwrap_or_default();
    Ok(if status.allowed { Decision::Allowed } else { Decision::Denied(status.reason.unwrap_or_default()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_user_is_read_from_headers() {
        let names = UserHeaders::default();
        let user = User::from_headers(
            &headers(&[
                ("X-Remote-User", "jane"),
                ("X-Remote-Group", "devs"),
                ("X-Remote-Group", "system:authenticated"),
                ("X-Remote-Extra-Acme.com%2Fproject", "one"),
                ("X-Remote-Extra-100%zz", "two"),
            ]),
            &names,
        )
        .unwrap();
        assert_eq!(
            (user.name.as_str(), user.groups.as_slice()),
            ("jane", ["devs".to_owned(), "system:authenticated".to_owned()].as_slice())
        );
        assert_eq!(user.extra.keys().collect::<Vec<_>>(), ["100%zz", "acme.com/project"]);
        assert_eq!(User::from_headers(&headers(&[("X-Remote-Group", "devs")]), &names), None);
        assert_eq!(User::from_headers(&headers(&[("X-Remote-User", "")]), &names), None);
    }
}
