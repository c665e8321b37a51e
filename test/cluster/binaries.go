// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	kwokModule       = "sigs.k8s.io/kwok"
)

// VersionVariable names the minor version of Kubernetes to build, such as 1.36, where that is not the one of controlplane.
// It has a module of pins of its own in a folder of that name there.
const VersionVariable = "FAIRLEAD_KUBERNETES"

// The modules of pins, each a folder beside this file.
const (
	controlPlanePins = "controlplane"
	kwokPins         = "kwok"
)

// program is one that Build can build. Its package must be a tool of the go.mod in pins.
type program struct {
	name, pkg, module, pins string
}

var programs = []program{
	{name: Etcd, pkg: etcdModule, module: etcdModule, pins: controlPlanePins},
	{name: Kubectl, pkg: kubernetesModule + "/cmd/kubectl", module: kubernetesModule, pins: controlPlanePins},
	{name: APIServer, pkg: kubernetesModule + "/cmd/kube-apiserver", module: kubernetesModule, pins: controlPlanePins},
	{name: ControllerManager, pkg: kubernetesModule + "/cmd/kube-controller-manager", module: kubernetesModule, pins: controlPlanePins},
	{name: Scheduler, pkg: kubernetesModule + "/cmd/kube-scheduler", module: kubernetesModule, pins: controlPlanePins},
	{name: Kwok, pkg: kwokModule + "/cmd/kwok", module: kwokModule, pins: kwokPins},
}

// selected returns the programs of those names, in the order of the table: the quick ones first, so
// that a download that fails does so within seconds, and last those that only nodes need.
func selected(names []string) ([]program, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var all []string
	var found []program
	for _, p := range programs {
		all = append(all, p.name)
		if len(names) == 0 || wanted[p.name] {
			found = append(found, p)
			delete(wanted, p.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no program %q to build; there are %s", name, strings.Join(all, ", "))
	}
	return found, nil
}

// pins holds the versions of one go.mod of pins.
type pins struct {
	folder   string            // of the module
	versions map[string]string // by module
	content  []byte            // go.mod and go.sum, to tell one set of pins from another
}

// findRoot looks for the checkout that a folder is in: it has test/cluster/controlplane.
func findRoot(folder string) (string, error) {
	start, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("find the pins of the control plane: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(pinsFolder(dir, controlPlanePins), "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no test/cluster/controlplane/go.mod in %s nor above it: run inside a checkout of "+
				"fairlead, set BuildOptions.Root to one, or set KUBEBUILDER_ASSETS to a folder with the programs", start)
		}
	}
}

func pinsFolder(root, module string) string { return filepath.Join(root, "test", "cluster", module) }

// readPins reads the pins of one module, which must name a version of each of the programs.
func readPins(root, module string, of []program) (*pins, error) {
	p := &pins{folder: pinsFolder(root, module)}
	if wanted := os.Getenv(VersionVariable); wanted != "" && module == controlPlanePins {
		others, _ := filepath.Glob(filepath.Join(p.folder, "*", "go.mod"))
		var there []string
		for _, other := range others {
			there = append(there, filepath.Base(filepath.Dir(other)))
		}
		if !slices.Contains(there, wanted) {
			return nil, fmt.Errorf("%s is %q, which has no pins in %s: use one of %s, or unset it for the newest",
				VersionVariable, wanted, p.folder, strings.Join(there, ", "))
		}
		p.folder = filepath.Join(p.folder, wanted)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(p.folder, name)) //nolint:gosec // of this checkout: the folder is one of those that are there
		if err != nil {
			return nil, fmt.Errorf("read the pins of the control plane: %w", err)
		}
		p.content = append(p.content, b...)
	}
	p.versions = versions(string(p.content)) // go.mod comes first, and its line is the one that counts
	for _, program := range of {
		if p.versions[program.module] == "" {
			return nil, fmt.Errorf("%s pins no version of %s", filepath.Join(p.folder, "go.mod"), program.module)
		}
	}
	return p, nil
}

// versions returns the version that a go.mod requires of each module.
func versions(mod string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(mod) {
		fields := strings.Fields(strings.TrimPrefix(line, "require"))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		if _, seen := found[fields[0]]; !seen {
			found[fields[0]] = fields[1]
		}
	}
	return found
}

// ldflags of a program: small, and with Kubernetes' version stamped in, without which the API
// server presents itself as a placeholder that no client can parse.
func (p *pins) ldflags(of program) string {
	const flags = "-s -w"
	if of.module != kubernetesModule {
		return flags
	}
	version := p.versions[kubernetesModule]
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	stamp := func(name, value string) string {
		return " -X k8s.io/component-base/version." + name + "=" + value
	}
	return flags + stamp("gitVersion", version) + stamp("gitMajor", major) + stamp("gitMinor", minor) +
		stamp("gitTreeState", "clean") + stamp("gitCommit", "unknown")
}
