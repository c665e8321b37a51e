// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"path/filepath"
)

// The programs of a node, by name.
const (
	containerd = "containerd"
	shim       = "containerd-shim-runc-v2"
	ctr        = "ctr"
	kubelet    = "kubelet"
	kubeProxy  = "kube-proxy"
	pause      = "pause"
)

const (
	runtimePins    = "runtime"
	kubernetesPins = "kubernetes"
	plugins        = "github.com/containernetworking/plugins/plugins/"
	runtime        = "github.com/containerd/containerd/v2/cmd/"
)

// program is one that is built from Go modules.
type program struct {
	name, pkg string
	// pins is the folder in components whose go.mod has the package as a tool. Empty is this module.
	pins string
}

var programs = []program{
	{name: "bridge", pkg: plugins + "main/bridge", pins: runtimePins},
	{name: "loopback", pkg: plugins + "main/loopback", pins: runtimePins},
	{name: "host-local", pkg: plugins + "ipam/host-local", pins: runtimePins},
	{name: containerd, pkg: runtime + containerd, pins: runtimePins},
	{name: shim, pkg: runtime + shim, pins: runtimePins},
	{name: ctr, pkg: runtime + ctr, pins: runtimePins},
	{name: kubeProxy, pkg: "k8s.io/kubernetes/cmd/" + kubeProxy, pins: kubernetesPins},
	{name: kubelet, pkg: "k8s.io/kubernetes/cmd/" + kubelet, pins: kubernetesPins},
	{name: pause, pkg: "./node/pause"},
}

// packages are the Debian packages: they need a C compiler, so Go modules cannot provide them.
var packages = []string{"runc", "nftables"}

// Programs says where the programs of a node are.
type Programs struct {
	// Folder holds those that were built.
	Folder string
	// Debian is the root of the unpacked packages. Empty means that the host has all of them.
	Debian string
}

// Locate returns where Prepare puts the programs of a checkout. What the host has of Debian's is used.
func Locate(root string) Programs {
	folder := filepath.Join(root, "bin", "node")
	p := Programs{Folder: filepath.Join(folder, "programs")}
	if !installed() {
		p.Debian = filepath.Join(folder, "debian")
	}
	return p
}

func (p Programs) path(name string) string { return filepath.Join(p.Folder, name) }

// environment returns the environment in which the components find programs and libraries. The kubelet calls mount, kube-proxy
// calls nft, and containerd its shim.
func (p Programs) environment() []string {
	path := p.Folder
	if p.Debian != "" {
		path += ":" + filepath.Join(p.Debian, "usr/sbin") + ":" + filepath.Join(p.Debian, "usr/bin")
	}
	env := []string{"PATH=" + path + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "NO_PROXY=*", "no_proxy=*"}
	if p.Debian == "" {
		return env
	}
	libraries, _ := filepath.Glob(filepath.Join(p.Debian, "usr/lib/*-linux-gnu")) // the pattern is well-formed
	for _, folder := range libraries {
		env = append(env, "LD_LIBRARY_PATH="+folder)
	}
	return env
}
