//! What a pod does: probes, name resolution, references to what it uses.

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, ExecAction, HTTPGetAction, HTTPHeader, LocalObjectReference, ObjectFieldSelector, PodDNSConfig,
    PodDNSConfigOption, ResourceFieldSelector, TCPSocketAction,
};
use kubevirt_api_macros::mirror;

mirror! {
    /// A command that is run.
    ExecAction {
        /// The program and its arguments, without a shell. Exit status 0 means success.
        command,
    }

    /// An HTTP request; a status from 200 to 399 means success.
    HTTPGetAction {
        /// The host to connect to. Default: the address of the pod.
        host,
        /// Further headers of the request.
        http_headers,
        /// The path that is asked for. Default: /.
        path,
        /// The port, as a number from 1 to 65535 or by name.
        #[api(required)]
        port,
        /// HTTP (default) or HTTPS; the certificate is not verified.
        scheme,
    }

    /// A header of an HTTP request.
    HTTPHeader {
        /// The name of the header.
        #[api(required)]
        name,
        /// Its value.
        #[api(required)]
        value,
    }

    /// A TCP connection; when it opens, that is success.
    TCPSocketAction {
        /// The host to connect to. Default: the address of the pod.
        host,
        /// The port, as a number from 1 to 65535 or by name.
        #[api(required)]
        port,
    }

    /// How names are resolved, beyond what the DNS policy gives.
    PodDNSConfig {
        /// Addresses of DNS servers, added to those of the policy.
        nameservers,
        /// Options of the resolver, merged with those of the policy; the ones here win.
        options,
        /// Domains in which short names are looked up, added to those of the policy.
        searches,
    }

    /// An option of the resolver.
    PodDNSConfigOption {
        /// The name of the option, such as ndots.
        name,
        /// Its value, if it has one.
        value,
    }

    /// An object of the same namespace.
    #[api(atomic)]
    LocalObjectReference {
        /// The name of the object.
        #[api(default = "")]
        name,
    }

    /// A file that shows a fact about the pod.
    DownwardAPIVolumeFile {
        /// A field of the pod: annotations, labels, name, namespace or uid.
        field_ref,
        /// The permission bits of the file, from 0 to 511 (0777). Default: those of the volume.
        mode,
        /// The path of the file in the volume, relative and without "..".
        #[api(required)]
        path,
        /// A resource limit or request of a container.
        resource_field_ref,
    }

    /// A field of a pod.
    #[api(atomic)]
    ObjectFieldSelector {
        /// The API version that the path is written for. Default: v1.
        api_version,
        /// The path of the field, such as metadata.labels.
        #[api(required)]
        field_path,
    }

    /// A resource of a container.
    #[api(atomic)]
    ResourceFieldSelector {
        /// The container.
        container_name,
        /// The unit that the amount is shown in. Default: 1.
        divisor,
        /// The resource, such as limits.memory or requests.cpu.
        #[api(required)]
        resource,
    }
}
