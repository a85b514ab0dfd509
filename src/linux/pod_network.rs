//! The network of a pod: what links it has, and what is made of a plan.

use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::process::{Command, Stdio};

use futures_util::TryStreamExt as _;
use kubevirt_rs::network::{Link, Step};
use rtnetlink::packet_route::address::AddressAttribute;
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::{Handle, LinkBridge, LinkUnspec};

use super::namespaces::in_network;
use super::tap;

/// A link, and its number.
struct Numbered {
    index: u32,
    link: Link,
}

/// The links of a network namespace.
pub(crate) fn links(namespace: BorrowedFd<'_>) -> io::Result<Vec<Link>> {
    in_network(namespace, || with_netlink(async |netlink| Ok(list(&netlink).await?.into_iter().map(|n| n.link).collect())))
}

/// Makes what a plan says. What is there already stays.
pub(crate) fn make(namespace: BorrowedFd<'_>, steps: &[Step]) -> io::Result<()> {
    in_network(namespace, || {
        for step in steps {
            take(step).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", describe(step))))?;
        }
        Ok(())
    })
}

fn describe(step: &Step) -> String {
    match step {
        Step::Bridge { name, .. } => format!("make the bridge {name} in the pod"),
        Step::Tap { name, .. } => format!("make the tap device {name} in the pod"),
        Step::Sysctl { path, value } => format!("set {path} to {value} in the pod"),
        Step::Nft { .. } => "set the pod's rules by nft".to_owned(),
    }
}

fn take(step: &Step) -> io::Result<()> {
    match step {
        Step::Bridge { name, mac, mtu, addresses } => with_netlink(async |netlink| bridge(&netlink, name, mac, *mtu, addresses).await),
        Step::Tap { name, bridge, mtu, owner, multiple_queues } => {
            let there = with_netlink(async |netlink| Ok(list(&netlink).await?.iter().any(|n| n.link.name == *name)))?;
            // a guest may have it open
            if !there {
                tap::make(name, *owner, *multiple_queues)?;
            }
            with_netlink(async |netlink| plug(&netlink, name, bridge, *mtu).await)
        }
        Step::Sysctl { path, value } => fs::write(format!("/proc/sys/{path}"), value),
        Step::Nft { rules } => nft(rules),
    }
}

/// Talks with the kernel in the network namespace of this thread.
fn with_netlink<T>(talk: impl AsyncFnOnce(Handle) -> io::Result<T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (connection, netlink, _) = rtnetlink::new_connection()?;
        let connection = tokio::spawn(connection);
        let result = talk(netlink).await;
        connection.abort();
        result
    })
}

fn fault(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other),
    }
}

async fn list(netlink: &Handle) -> io::Result<Vec<Numbered>> {
    let mut found = Vec::new();
    let mut links = netlink.link().get().execute();
    while let Some(message) = links.try_next().await.map_err(fault)? {
        let mut link = Link::default();
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                LinkAttribute::Address(mac) if mac.len() == 6 => {
                    link.mac = Some(mac.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"));
                }
                _ => {}
            }
        }
        found.push(Numbered { index: message.header.index, link });
    }
    let mut addresses = netlink.address().get().execute();
    while let Some(message) = addresses.try_next().await.map_err(fault)? {
        let find = |wanted: fn(&AddressAttribute) -> Option<IpAddr>| message.attributes.iter().find_map(wanted);
        // on a link from point to point the other address is the peer's
        let local = find(|a| if let AddressAttribute::Local(ip) = a { Some(*ip) } else { None });
        let address = local.or_else(|| find(|a| if let AddressAttribute::Address(ip) = a { Some(*ip) } else { None }));
        if let (Some(address), Some(numbered)) = (address, found.iter_mut().find(|n| n.index == message.header.index)) {
            numbered.link.addresses.push(address);
        }
    }
    Ok(found)
}

async fn index(netlink: &Handle, name: &str) -> io::Result<Option<u32>> {
    Ok(list(netlink).await?.into_iter().find(|n| n.link.name == name).map(|n| n.index))
}

async fn bridge(netlink: &Handle, name: &str, mac: &str, mtu: u32, addresses: &[(IpAddr, u8)]) -> io::Result<()> {
    let mac: Option<Vec<u8>> = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let mac = mac.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the MAC address of the bridge is none"))?;
    let there = index(netlink, name).await?;
    if there.is_none() {
        netlink.link().add(LinkBridge::new(name).address(mac).mtu(mtu).build()).execute().await.map_err(fault)?;
    }
    let gone = || io::Error::new(io::ErrorKind::NotFound, "the bridge is gone again");
    let index = match there {
        Some(index) => index,
        None => index(netlink, name).await?.ok_or_else(gone)?,
    };
    netlink.link().set(LinkUnspec::new_with_index(index).up().build()).execute().await.map_err(fault)?;
    for (address, prefix) in addresses {
        netlink.address().add(index, *address, *prefix).replace().execute().await.map_err(fault)?;
    }
    Ok(())
}

async fn plug(netlink: &Handle, name: &str, bridge: &str, mtu: u32) -> io::Result<()> {
    let find = async |name: &str| {
        index(netlink, name).await?.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no link {name}")))
    };
    let (tap, bridge) = (find(name).await?, find(bridge).await?);
    let message = LinkUnspec::new_with_index(tap).mtu(mtu).controller(bridge).up().build();
    netlink.link().set(message).execute().await.map_err(fault)
}

/// Hands rules to nft, in the network namespace of this thread.
fn nft(rules: &str) -> io::Result<()> {
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = nft.stdin.take() {
        input.write_all(rules.as_bytes())?;
    }
    let output = nft.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("nft: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
    use kubevirt_rs::config::ClusterConfig;
    use kubevirt_rs::network::plan;
    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// A network namespace with a link `eth0`, as a pod has one.
    fn pod() -> fs::File {
        std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            with_netlink(async |netlink| {
                let pair = rtnetlink::LinkVeth::new("eth0", "outside").mtu(1450).build();
                netlink.link().add(pair).execute().await.map_err(fault)?;
                let eth0 = index(&netlink, "eth0").await?.unwrap();
                netlink.link().set(LinkUnspec::new_with_index(eth0).up().build()).execute().await.map_err(fault)?;
                netlink.address().add(eth0, "10.244.1.7".parse().unwrap(), 24).execute().await.map_err(fault)
            })
            .unwrap();
            fs::File::open("/proc/thread-self/ns/net").unwrap()
        })
        .join()
        .unwrap()
    }

    #[test]
    fn a_plan_is_carried_out_and_again() {
        if !nix::unistd::geteuid().is_root() || Command::new("nft").arg("--version").output().is_err() {
            eprintln!("skipped: needs root and nft");
            return;
        }
        let vmi: VirtualMachineInstance = serde_yaml::from_str(
            "{metadata: {name: a}, spec: {networks: [{name: default, pod: {}}], domain: {devices: {interfaces: [{name: default, masquerade: {}}]}}}}",
        )
        .unwrap();
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let pod = pod();
        for _ in 0..2 {
            let links = links(pod.as_fd()).unwrap();
            let plan = plan(&vmi, &config, &links).unwrap();
            assert_eq!(plan.networks[0].pod_addresses, ["10.244.1.7".parse::<IpAddr>().unwrap()]);
            make(pod.as_fd(), &plan.steps).unwrap();
        }
        let links = links(pod.as_fd()).unwrap();
        let find = |name: &str| links.iter().find(|l| l.name == name).unwrap();
        assert_eq!((find("k6t-eth0").mac.as_deref(), find("k6t-eth0").mtu, find("tap0").mtu), (Some("02:00:00:00:00:00"), 1450, 1450));
        assert!(find("k6t-eth0").addresses.contains(&"10.0.2.1".parse().unwrap()));
        let read = |path: &str| in_network(pod.as_fd(), || fs::read_to_string(path)).unwrap().trim().to_owned();
        assert_eq!(read("/proc/sys/net/ipv4/ip_forward"), "1");
        assert_eq!(read("/proc/sys/net/ipv4/conf/k6t-eth0/route_localnet"), "1");
        let ruleset = in_network(pod.as_fd(), || Command::new("nft").args(["list", "ruleset"]).output()).unwrap();
        let ruleset = String::from_utf8_lossy(&ruleset.stdout).into_owned();
        assert_eq!(ruleset.matches("dnat to 10.0.2.2").count(), 2, "{ruleset}");
        assert_eq!(ruleset.matches("masquerade").count(), 1, "{ruleset}");
    }

    #[test]
    fn what_fails_is_said_by_its_name() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let pod = pod();
        let tap = Step::Tap { name: "tap0".into(), bridge: "nowhere".into(), mtu: 1450, owner: 107, multiple_queues: false };
        let error = make(pod.as_fd(), &[tap]).unwrap_err().to_string();
        assert!(error.contains("tap0") && error.contains("nowhere"), "{error}");
        let sysctl = Step::Sysctl { path: "net/ipv4/conf/nowhere/route_localnet".into(), value: "1".into() };
        assert!(make(pod.as_fd(), &[sysctl]).unwrap_err().to_string().contains("net/ipv4/conf/nowhere"));
    }
}
