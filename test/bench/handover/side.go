// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// replica is a process of one side.
type replica struct {
	*cluster.Component
	id, webhook string
}

// side starts processes. They are not waited for.
type side struct {
	lease string
	start func(ctx context.Context) (*replica, error)
}

// ours is the operator with its defaults.
func ours(s *stage.Stage, flags ...string) side {
	return side{lease: "fairlead-manager", start: func(ctx context.Context) (*replica, error) {
		r, err := s.Launch(ctx, append([]string{"--webhook-drain-delay=0s"}, flags...)...)
		if err != nil {
			return nil, err
		}
		return &replica{r.Component, r.ID, r.Webhook}, nil
	}}
}

// stock builds the peer, and makes the certificate that it finds on disk.
func stock(ctx context.Context, s *stage.Stage, root string, flags ...string) (side, error) {
	program := filepath.Join(root, "bin", "fairlead-stock")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/stock")
	build.Dir = filepath.Join(root, "test")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return side{}, fmt.Errorf("build test/cmd/stock: %w: %s", err, output)
	}
	folder := filepath.Join(s.Folder(), "stock")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return side{}, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return side{}, err
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return side{}, err
		}
	}
	n := 0
	return side{lease: "stock", start: func(ctx context.Context) (*replica, error) {
		n++
		r := &replica{id: fmt.Sprintf("stock-%d-%d", time.Now().Unix(), n)}
		var err error
		r.Component, err = s.Run(ctx, cluster.Spec{Name: r.id, Path: program, Grace: time.Minute, Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			r.webhook = fmt.Sprintf("127.0.0.1:%d", port)
			return append([]string{"--kubeconfig=" + s.Kubeconfig(), "--id=" + r.id, "--namespace=" + stage.Namespace, "--cert-dir=" + folder,
				fmt.Sprintf("--webhook-port=%d", port)}, flags...), err
		}})
		return r, err
	}}, nil
}

// serves waits until the webhook server shakes hands, and answers when it did.
func (r *replica) serves(ctx context.Context) (time.Time, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // whether it serves, not who, is measured
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		if conn, err := dialer.DialContext(ctx, "tcp", r.webhook); err == nil {
			return time.Now(), conn.Close()
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s does not serve: %w", r.id, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
