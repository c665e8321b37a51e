// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// PauseImage is the image that holds the namespaces of a pod.
const PauseImage = "localhost/pause:node"

const (
	socket = state + "/containerd.sock"
	netd   = state + "/cni"
)

// containerdConfig: no score below its parent's, which not every machine permits; no profiles of
// AppArmor, which are the host's; and no port.
const containerdConfig = `version = 3
root = %[1]q
state = %[2]q
oom_score = 0
[grpc]
  address = %[3]q
[ttrpc]
  address = %[4]q
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %[5]q
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%[6]q]
    conf_dir = %[7]q
[plugins.'io.containerd.grpc.v1.cri']
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
`

func (n *Node) containerd() (cluster.Spec, error) {
	config := filepath.Join(state, "containerd.toml")
	content := fmt.Sprintf(containerdConfig, filepath.Join(state, "images"), filepath.Join(state, "containers"), socket,
		filepath.Join(state, "containerd.ttrpc"), PauseImage, n.programs.Folder, netd)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return cluster.Spec{}, fmt.Errorf("containerd: %w", err)
	}
	return cluster.Spec{
		Name:  containerd,
		Path:  n.programs.path(containerd),
		Env:   n.programs.environment(),
		Args:  func() ([]string, error) { return []string{"--config=" + config}, nil },
		Ready: func(ctx context.Context) error { return n.ctr(ctx, "version") },
	}, cni(netd)
}

// Load makes the images of an OCI archive known to the node.
func (n *Node) Load(ctx context.Context, archive string) error {
	return n.ctr(ctx, "images", "import", "--local", archive)
}

func (n *Node) ctr(ctx context.Context, args ...string) error {
	return said(ctx, n.programs.path(ctr), append([]string{"--address=" + socket, "--namespace=k8s.io"}, args...)...)
}
