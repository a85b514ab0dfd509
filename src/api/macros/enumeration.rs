//! `#[api]` on an enum: an open enumeration, its wire form and its schema.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Error, Expr, ExprLit, ItemEnum, Lit, Result};

use crate::field::{Markers, documentation};

pub(crate) fn expand(markers: &Markers, item: &ItemEnum) -> Result<Tokens> {
    let (attrs, vis, name) = (&item.attrs, &item.vis, &item.ident);
    let mut variants = Vec::new();
    let mut idents = Vec::new();
    let mut values = Vec::new();
    for variant in &item.variants {
        let Some((_, Expr::Lit(ExprLit { lit: Lit::Str(value), .. }))) = &variant.discriminant else {
            return Err(Error::new_spanned(variant, "write the value on the wire: `Name = \"wire\"`"));
        };
        let (docs, ident) = (&variant.attrs, &variant.ident);
        let shown = format!("`{}`", value.value());
        variants.push(if docs.is_empty() { quote!(#[doc = #shown] #ident) } else { quote!(#(#docs)* #ident) });
        idents.push(ident);
        values.push(value);
    }
    let visitor = format_ident!("{name}Visitor");
    let expecting = format!("a {name}");
    let (text, steps) = (documentation(attrs), &markers.steps);
    Ok(quote! {
        #(#attrs)*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #vis enum #name {
            #(#variants,)*
            /// A value that this version does not know; the empty string is the unset value.
            Other(String),
        }

        impl #name {
            /// The values that this version knows, as they stand on the wire.
            pub const VALUES: &'static [&'static str] = &[#(#values),*];

            /// The value as it stands on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#idents => #values,)*
                    Self::Other(other) => other,
                }
            }

            /// Whether nothing was given.
            pub fn is_unset(&self) -> bool {
                self.as_str().is_empty()
            }

            /// Whether this version knows the value.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }
        }

        impl crate::schema::Schema for #name {
            fn schema() -> crate::schema::Node {
                crate::schema::Node::enumeration(Self::VALUES).described(#text)#steps
            }
        }

        impl crate::wire::Empty for #name {
            fn is_empty(&self) -> bool {
                self.is_unset()
            }
        }

        impl Default for #name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl From<&str> for #name {
            fn from(value: &str) -> Self {
                match value {
                    #(#values => Self::#idents,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for #name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for #name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for #name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct #visitor;
                impl serde::de::Visitor<'_> for #visitor {
                    type Value = #name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(#expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<#name, E> {
                        Ok(#name::from(value))
                    }
                }
                deserializer.deserialize_str(#visitor)
            }
        }
    })
}
