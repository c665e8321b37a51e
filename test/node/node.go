// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// Options of Start.
type Options struct {
	// Root is the checkout.
	Root string
	// Programs are those of Prepare.
	Programs Programs
	// Logs takes the logs of the components. Default: they are lost with the node.
	Logs string
	// Output takes the progress. Default: none.
	Output io.Writer
}

// Node is one node with its control plane.
type Node struct {
	*cluster.Cluster
	programs Programs
	group    string
}

// ControlPlane are the programs that Start needs besides those of Prepare. Build them outside.
func ControlPlane() []string {
	return []string{cluster.Etcd, cluster.Kubectl, cluster.APIServer, cluster.ControllerManager, cluster.Scheduler}
}

// Start starts the control plane and the node, and returns once the node is ready for pods. It works
// only inside. Stop ends all of it; whatever that leaves, such as containers, ends with the inside.
func Start(ctx context.Context, o Options) (*Node, error) {
	if !Inside() {
		return nil, errors.New("start a node: only inside of Enter, or it would take over the host's network")
	}
	if err := network(ctx); err != nil {
		return nil, err
	}
	build := cluster.BuildOptions{Root: o.Root, Programs: ControlPlane(), Output: o.Output}
	folder, err := cluster.Build(ctx, build)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Options{
		Build: build,
		APIServerFlags: []string{
			// Pods reach it at the node's address, behind the Service "kubernetes".
			"--bind-address=0.0.0.0", "--advertise-address=" + Address, "--endpoint-reconciler-type=lease",
			"--service-cluster-ip-range=" + services,
		},
		LogFolder: o.Logs,
		Output:    o.Output,
	})
	if err != nil {
		return nil, err
	}
	n := &Node{Cluster: c, programs: o.Programs, group: os.Getenv(groupVariable)}
	if err := n.start(ctx, filepath.Join(folder, cluster.Scheduler)); err != nil {
		return nil, errors.Join(fmt.Errorf("start the node: %w", err), n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context, scheduler string) error {
	if err := n.serveNames(ctx); err != nil {
		return err
	}
	specs := []func() (cluster.Spec, error){
		func() (cluster.Spec, error) { return n.scheduler(scheduler) },
		n.containerd, n.kubelet, n.proxy, // which asks for the address of the node
	}
	for _, of := range specs {
		spec, err := of()
		if err != nil {
			return err
		}
		if _, err := n.Run(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) scheduler(path string) (cluster.Spec, error) {
	user, err := n.User("system:kube-scheduler")
	return cluster.Spec{
		Name: cluster.Scheduler,
		Path: path,
		Args: func() ([]string, error) {
			return []string{"--kubeconfig=" + user.Kubeconfig, "--bind-address=127.0.0.1", "--leader-elect=false",
				"--cert-dir=" + filepath.Join(state, cluster.Scheduler)}, nil
		},
	}, err
}

// Environment returns the environment in which a program finds those of the node, such as nft.
func (n *Node) Environment() []string { return n.programs.environment() }
