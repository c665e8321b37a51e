// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	rotation = "fairlead.dev/rotation"
)

// calls repeats the calls of clients while something else happens.
type calls struct {
	mu       sync.Mutex
	made     int
	failures []string
}

func (c *calls) count(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	if err != nil && len(c.failures) < 20 {
		c.failures = append(c.failures, time.Now().Format("15:04:05.000 ")+err.Error())
	}
}

// keep repeats a call until the context ends; what fails by its end does not count.
func (c *calls) keep(ctx context.Context, pause time.Duration, call func(context.Context) error) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if err := call(ctx); ctx.Err() == nil {
			c.count(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// none wants calls, and no failure among them.
func (c *calls) none(s *suite, what string) {
	s.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Logf("%d %s, %d failed", c.made, what, len(c.failures))
	if c.made < 20 || len(c.failures) > 0 {
		s.Errorf("%d %s; failed:\n%s", c.made, what, strings.Join(c.failures, "\n"))
	}
}

// generations of the objects that carry the bundle.
func (s *suite) generations() map[string]int64 {
	s.Helper()
	all := map[string]int64{}
	for _, object := range s.trusting() {
		all[object.GetKind()+" "+object.GetName()] = object.GetGeneration()
	}
	return all
}

func TestARotationOfTheRootFailsNoCallAndWritesEachDefinitionTwice(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	replicas := make([]*replica, 3)
	for i := range replicas {
		if replicas[i] = s.start("--set=webhook.certificates.validity=1m"); i == 0 {
			replicas[0].reconciles() // it leads, which another one started at once might do
		}
	}
	for _, r := range replicas {
		r.reaches("ca-published", "done")
	}
	namespace := s.NewNamespace()
	s.Must(s.Reachable(t.Context()))
	s.create(namespace, "patched")
	before, was := s.generations(), s.secret()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	trust, err := s.FollowTrust(ctx)
	s.Must(err)
	var handshakes, applies calls
	var calling sync.WaitGroup
	for _, r := range replicas {
		calling.Go(func() {
			handshakes.keep(ctx, 500*time.Millisecond, func(ctx context.Context) error { return trust.Handshake(ctx, r.Webhook) })
		})
	}
	manifest := s.File("old.yaml", `
apiVersion: networking.fairlead.dev/v1alpha1
kind: ExternalService
metadata: {name: applied, namespace: `+namespace+`}
spec: {ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.20]}]}
`)
	calling.Go(func() {
		applies.keep(ctx, 2*time.Second, func(ctx context.Context) error {
			_, err := s.Cluster.Kubectl(ctx, "apply", "--server-side", "-f", manifest)
			return err
		})
	})
	var updates calls
	calling.Go(func() {
		n := 0
		updates.keep(ctx, framework.Pace(100*time.Millisecond), func(ctx context.Context) error {
			n++
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)
			_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Patch(ctx, "patched", types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	})
	defer calling.Wait()
	defer stop()

	began := time.Now()
	command := exec.CommandContext(t.Context(), filepath.Join(framework.Root, "bin", "fairlead"), "rotate-ca", "--wait="+framework.Patience.String(), "--kubeconfig="+s.Kubeconfig())
	printed, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "the new root signs, and the former one stays trusted") {
		t.Errorf("%v: %s", err, printed)
	}
	if secret := s.secret(); bytes.Equal(secret.Data["tls.crt"], was.Data["tls.crt"]) {
		t.Errorf("the previous root signs: %v", secret.Annotations)
	}
	t.Logf("the next root signs after %s", time.Since(began).Round(time.Millisecond))
	s.Must(framework.Eventually(t.Context(), 2*framework.Patience, func(context.Context) error {
		if phase, there := s.secret().Annotations[rotation]; there {
			return fmt.Errorf("the rotation goes on: %s", phase)
		}
		for _, object := range s.trusting() {
			for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
				if block, rest := pem.Decode(bundle); block == nil || len(rest) > 0 {
					return fmt.Errorf("%s carries more than one root", path)
				}
			}
		}
		return nil
	}))
	t.Logf("the previous root is gone after %s", time.Since(began).Round(time.Millisecond))
	stop()
	calling.Wait()
	handshakes.none(s, "rounds of handshakes")
	applies.none(s, "kubectl apply of v1alpha1")
	updates.none(s, "patches at v1alpha1")

	for name, generation := range s.generations() {
		if written := generation - before[name]; written != 2 {
			t.Errorf("%s was written %d times", name, written)
		}
	}
	if secret := s.secret(); len(secret.Data) != 3 || bytes.Contains(secret.Data["ca.crt"], bytes.TrimSpace(was.Data["tls.crt"])) {
		t.Errorf("the Secret holds %d keys, with the previous root or without it", len(secret.Data))
	}
}
