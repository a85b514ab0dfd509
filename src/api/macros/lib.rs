//! The `#[api]` attribute: one declaration of a Kubernetes API type gives its wire form.
//!
//! On a struct it derives `Clone, Debug, Default, PartialEq, Serialize, Deserialize` with the rules that Kubernetes'
//! own encoder follows, so that a document survives a decode and an encode unchanged:
//!
//! - JSON names are the camelCase of the field's name (a trailing `_` is dropped), or `#[api(name = "…")]`;
//! - an empty value (absent, `null`, `""`, `0`, `false`, `[]`, `{}`) is left out, unless the field is
//!   `required` (the schema demands it) or `always` (written even when it is empty, as a struct by value is);
//! - unknown fields are ignored here; the schema reports them.
//!
//! On an enum whose variants are written `Name = "wire"`, it makes an *open* enumeration: one more variant
//! `Other(String)` keeps a value that this version does not know, and the empty string is the unset value
//! (`Default`). Validation, not decoding, decides whether an unknown value is a fault, so that it can name the field.
//!
//! The remaining arguments (`list`, `key`, `nullable`, …) say what the schema needs and have no effect on the wire.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Error, Expr, ExprLit, Field, Fields, Item, ItemEnum, ItemStruct, Lit, LitStr, Result, Type, parse_macro_input};

/// Gives an API type its wire form. See the crate's documentation.
#[proc_macro_attribute]
pub fn api(args: TokenStream, item: TokenStream) -> TokenStream {
    let args = Tokens::from(args);
    let expanded = match parse_macro_input!(item as Item) {
        Item::Struct(item) => structure(item),
        Item::Enum(item) => enumeration(&item),
        other => Err(Error::new_spanned(other, "`api` goes on a struct or an enum")),
    };
    let _ = args;
    expanded.unwrap_or_else(Error::into_compile_error).into()
}

/// What `#[api(…)]` on a field says about the wire form.
#[derive(Default)]
struct Wire {
    name: Option<LitStr>,
    keep_empty: bool,
}

fn wire(field: &mut Field) -> Result<Wire> {
    let mut wire = Wire::default();
    for attribute in field.attrs.extract_if(.., |a| a.path().is_ident("api")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                wire.name = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("required") || meta.path.is_ident("always") {
                wire.keep_empty = true;
            } else if let Ok(value) = meta.value() {
                value.parse::<Expr>()?;
            }
            Ok(())
        })?;
    }
    Ok(wire)
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "Option"))
}

fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.trim_end_matches('_').chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}

fn structure(mut item: ItemStruct) -> Result<Tokens> {
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new_spanned(item, "`api` structs have named fields"));
    };
    for field in &mut fields.named {
        let wire = wire(field)?;
        let rust = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let name = wire.name.unwrap_or_else(|| {
            LitStr::new(&camel_case(&rust), field.ident.as_ref().map_or_else(proc_macro2::Span::call_site, syn::Ident::span))
        });
        field.attrs.push(syn::parse_quote!(#[serde(rename = #name)]));
        if is_option(&field.ty) {
            field.attrs.push(syn::parse_quote!(#[serde(default)]));
            if !wire.keep_empty {
                field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
            }
        } else {
            field.attrs.push(syn::parse_quote!(#[serde(default, deserialize_with = "crate::wire::nullable")]));
            if !wire.keep_empty {
                field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "crate::wire::is_empty")]));
            }
        }
    }
    Ok(quote! {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #item
    })
}

fn enumeration(item: &ItemEnum) -> Result<Tokens> {
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
