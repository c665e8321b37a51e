// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Kubectl is the name of the program.
const Kubectl = "kubectl"

// kubectlLimit bounds what Kubectl returns.
const kubectlLimit = 64 << 20

// KubectlPath is the file of kubectl, for programs that run it themselves.
func (c *Cluster) KubectlPath() string { return c.binaries.path(Kubectl) }

// Kubectl runs kubectl as the administrator and returns its standard output, at most 64 MiB. The
// error holds what kubectl wrote to standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	stdout := bounded{limit: kubectlLimit}
	stderr := bounded{limit: 64 << 10}
	err := c.KubectlIO(ctx, nil, &stdout, &stderr, args...)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.buf.String()))
	}
	return stdout.buf.String(), err
}

// KubectlIO is Kubectl with all three streams, for manifests on standard input (apply -f -) and for
// the warnings on standard error. A nil stream is empty, or discarded. Another user's --kubeconfig
// may stand among the arguments. It ends with ctx and with the cluster.
func (c *Cluster) KubectlIO(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) error {
	ctx, stop := whileBoth(ctx, c.ctx)
	defer stop()
	cmd := exec.Command(c.binaries.path(Kubectl), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig(),
		// The user's own caches and preferences are none of our business.
		"KUBECACHEDIR="+filepath.Join(c.folder, "kubectl-cache"),
		"KUBECTL_KUBERC=false",
		// It ends before it needs the memory, and would spend a fifth of its time on collecting garbage.
		"GOGC=400",
	)
	p, err := c.supervisor.start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.end(time.Second)
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), p.err)
	}
	return nil
}

// bounded fails a program that writes more than it may.
type bounded struct {
	buf   bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("more than %d bytes of output", b.limit)
	}
	return b.buf.Write(p)
}
