//! `mirror!`: the schemas of types that others declare.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Result, Token, braced};

use crate::field::{Markers, documentation};

/// Types without the types of their fields: those come from the type that is mirrored.
pub(crate) struct Mirrors(Vec<Mirror>);

struct Mirror {
    attributes: Vec<Attribute>,
    ident: Ident,
    fields: Punctuated<MirroredField, Token![,]>,
}

struct MirroredField {
    attributes: Vec<Attribute>,
    ident: Ident,
}

impl Parse for Mirrors {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut mirrors = Vec::new();
        while !input.is_empty() {
            mirrors.push(input.parse()?);
        }
        Ok(Self(mirrors))
    }
}

impl Parse for Mirror {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (attributes, ident) = (input.call(Attribute::parse_outer)?, input.parse()?);
        let content;
        braced!(content in input);
        Ok(Self { attributes, ident, fields: Punctuated::parse_terminated(&content)? })
    }
}

impl Parse for MirroredField {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self { attributes: input.call(Attribute::parse_outer)?, ident: input.parse()? })
    }
}

pub(crate) fn expand(mirrors: Mirrors) -> Result<Tokens> {
    mirrors.0.into_iter().map(one).collect()
}

fn one(mut mirror: Mirror) -> Result<Tokens> {
    let ty = &mirror.ident;
    let text = documentation(&mirror.attributes);
    let steps = Markers::take(&mut mirror.attributes)?.steps;
    let mut schema = Tokens::new();
    for field in &mut mirror.fields {
        let markers = Markers::take(&mut field.attributes)?;
        let (ident, name, text) = (&field.ident, markers.wire_name(&field.ident), documentation(&field.attributes));
        let (required, steps) = (markers.required, &markers.steps);
        schema.extend(quote! {
            .field(#name, #required, crate::schema::k8s::of(|t: &#ty| &t.#ident).described(#text)#steps)
        });
    }
    Ok(quote! {
        impl crate::schema::Schema for #ty {
            fn schema() -> crate::schema::Node {
                crate::schema::Node::object().described(#text)#schema #steps
            }
        }
    })
}
