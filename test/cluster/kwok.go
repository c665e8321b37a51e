// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// Kwok is the name of the component, and of its program: it plays the kubelets of all nodes, also
// of those that a test adds.
const Kwok = "kwok"

// What a test says to the simulated kubelets, on a pod or in the template of a workload. README.md
// has the details.
const (
	// FaultLabel names the fault of a pod. It may be set on a pod that runs, and taken off again.
	FaultLabel = "fault"
	// FaultImagePull keeps a new pod Pending, in ImagePullBackOff.
	FaultImagePull = "image-pull"
	// FaultUnready keeps a pod from being ready while it runs.
	FaultUnready = "unready"
	// FaultCrashOnce ends the containers of a ready pod after a second, and starts them again.
	FaultCrashOnce = "crash-once"
	// FaultCrashLoop ends the containers of a ready pod after a second, again and again.
	FaultCrashLoop = "crash-loop"

	// ReadyAfterAnnotation is how long a pod runs before it is ready, such as "3s". Default: at once.
	ReadyAfterAnnotation = "kwok.fairlead.dev/ready-after"
	// StopAfterAnnotation is how long a deleted pod takes to go, such as "2s". Default: at once.
	StopAfterAnnotation = "kwok.fairlead.dev/stop-after"
)

// defaultPodCIDR is where pods get their IPs from.
const defaultPodCIDR = "10.244.0.0/16"

// stages say how nodes and pods go from one state to the next. KWOK has none of its own.
//
//go:embed stages/*.yaml
var stages embed.FS

func kwok(c *Cluster, programs binaries) Spec {
	var port int // of the last attempt
	return Spec{
		Name: Kwok,
		Path: programs.path(Kwok),
		// What the user keeps in ~/.kwok is not for us.
		Env: append([]string{"KWOK_WORKDIR=" + c.folder}, quiet...),
		Args: func() ([]string, error) {
			// It does the work of many kubelets. Each of them may touch its own node only: no role
			// grants that to one user.
			user, err := c.User("kwok", "system:masters")
			if err != nil {
				return nil, err
			}
			if port, err = loopback.FreePort(); err != nil {
				return nil, err
			}
			files, err := c.writeStages()
			if err != nil {
				return nil, err
			}
			cidr := c.options.PodCIDR
			if cidr == "" {
				cidr = defaultPodCIDR
			}
			return append(files,
				"--kubeconfig="+user.Kubeconfig,
				"--manage-all-nodes=true",
				"--node-ip=127.0.0.1",
				"--cidr="+cidr,
				fmt.Sprintf("--node-lease-duration-seconds=%d", leaseSeconds(c.options.Nodes)),
				fmt.Sprintf("--server-address=127.0.0.1:%d", port),
				"--tls-cert-file="+c.pki.file("component.crt"),
				"--tls-private-key-file="+c.pki.file("component.key"),
			), nil
		},
		Ready: func(ctx context.Context) error { return c.getComponent(ctx, port, "/healthz") },
	}
}

// leaseSeconds is how long a node's heartbeat counts. After a crash, KWOK comes back under another name and has to wait for the
// leases of its earlier process, so they are short. But each is renewed four times in that time. With many nodes, that must not
// be all that the API server does.
func leaseSeconds(nodes int) int { return min(5+nodes/25, 40) }

// writeStages puts the stages where KWOK can read them, and returns the flags that say so.
func (c *Cluster) writeStages() ([]string, error) {
	folder := filepath.Join(c.folder, "stages")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("write the stages of %s: %w", Kwok, err)
	}
	entries, err := stages.ReadDir("stages")
	if err != nil {
		return nil, fmt.Errorf("read the stages of %s: %w", Kwok, err)
	}
	var flags []string
	for _, entry := range entries {
		content, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the stages of %s: %w", Kwok, err)
		}
		path := filepath.Join(folder, entry.Name())
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("write the stages of %s: %w", Kwok, err)
		}
		flags = append(flags, "--config="+path)
	}
	return flags, nil
}
