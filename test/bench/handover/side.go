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
	"slices"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// replica is a process of one side.
type replica struct {
	*cluster.Component
	id, webhook string
	operator    *framework.Replica // nil: the peer
}

// side starts processes. They are not waited for.
type side struct {
	lease string
	start func(ctx context.Context) (*replica, error)
	// synced is how long after its start one that reconciles had its caches.
	synced func(ctx context.Context, r *replica, began time.Time) (time.Duration, error)
	// warm returns when a standby has its caches; nil where it fills none before it leads.
	warm func(ctx context.Context, r *replica) error
	// onEnd tells the cluster that a process has ended; nil where that is not needed.
	onEnd func(ctx context.Context, id string) error
}

// ours is the operator with its defaults.
func ours(s *framework.Cluster, flags ...string) side {
	return side{lease: "fairlead-manager", start: func(ctx context.Context) (*replica, error) {
		r, err := s.Launch(ctx, append([]string{"--set=webhook.drainDelay=0s"}, flags...)...)
		if err != nil {
			return nil, err
		}
		return &replica{Component: r.Component, id: r.ID, webhook: r.Webhook, operator: r}, nil
	}, synced: func(ctx context.Context, r *replica, _ time.Time) (time.Duration, error) {
		phases, err := r.operator.Phases(ctx)
		if err != nil {
			return 0, err
		}
		for _, p := range phases {
			if p.Phase == "caches" {
				return time.Duration((p.AfterSeconds + p.Seconds) * float64(time.Second)), nil
			}
		}
		return 0, fmt.Errorf("%s: /statusz lists no caches", r.id)
	}, warm: func(ctx context.Context, r *replica) error {
		return framework.Eventually(ctx, fleetPatience, func(ctx context.Context) error {
			phases, err := r.operator.Phases(ctx)
			if err == nil && !slices.ContainsFunc(phases, func(p framework.Phase) bool { return p.Phase == "caches" && p.State == "done" }) {
				err = fmt.Errorf("%s: the caches are not synced", r.id)
			}
			return err
		})
	}}
}

// forLife is the operator elected for life. Each process has a Pod, which is deleted as soon as it has
// ended, as a kubelet would.
func (r *run) forLife() side {
	s := ours(r.stage, "--set=leaderElection.mode=forLife")
	launch := s.start
	s.start = func(ctx context.Context) (*replica, error) {
		if err := framework.CreatePod(ctx, r.stage.Client, r.stage.NextReplica()); err != nil {
			return nil, err
		}
		return launch(ctx)
	}
	s.onEnd = func(ctx context.Context, id string) error { return framework.DeletePod(ctx, r.stage.Client, id) }
	return s
}

// reportEnd does so.
func (s side) reportEnd(ctx context.Context, r *replica) error {
	if s.onEnd == nil {
		return nil
	}
	return s.onEnd(ctx, r.id)
}

// stock builds the peer, and makes the certificate that it finds on disk.
func (r *run) stock(ctx context.Context, flags ...string) (side, error) {
	program := filepath.Join(r.options.Root, "bin", "fairlead-stock")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/stock")
	build.Dir = filepath.Join(r.options.Root, "test")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return side{}, fmt.Errorf("build test/cmd/stock: %w: %s", err, output)
	}
	folder := filepath.Join(r.stage.Folder(), "stock")
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
		p := &replica{id: fmt.Sprintf("stock-%d-%d", time.Now().Unix(), n)}
		var err error
		p.Component, err = r.stage.Run(ctx, cluster.Spec{Name: p.id, Path: program, Grace: time.Minute, Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			p.webhook = fmt.Sprintf("127.0.0.1:%d", port)
			return append([]string{"--kubeconfig=" + r.stage.Kubeconfig(), "--id=" + p.id, "--namespace=" + framework.Namespace, "--cert-dir=" + folder,
				fmt.Sprintf("--webhook-port=%d", port)}, flags...), err
		}})
		return p, err
	}, synced: func(ctx context.Context, p *replica, began time.Time) (time.Duration, error) {
		synced, err := r.log.First(ctx, "synced", began, func(id string) bool { return id == p.id })
		return synced.At.Sub(began), err
	}}, nil
}

// serves waits until the webhook server shakes hands, and returns when it did.
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
