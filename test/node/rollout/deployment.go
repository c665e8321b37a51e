// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/node"
)

const (
	// name of the Deployment of the leader, and of its Lease.
	name = "fairlead-manager"
	// service leads to the webhooks. In the split layout, their Deployment has its name.
	service = "fairlead-webhook"
	// patience bounds each wait. A rollout of three replicas takes a minute on an idle machine.
	patience = 6 * time.Minute
)

// deployment is Fairlead on a node.
type deployment struct {
	*node.Node
	client client.WithWatch
	layout *layout
}

// deploy applies a layout of the checkout, and waits until every replica is ready and objects at
// v1alpha1 are converted.
func deploy(ctx context.Context, n *node.Node, root, image string, l *layout) (*deployment, error) {
	c, err := framework.NewClient(n.Kubeconfig())
	if err != nil {
		return nil, err
	}
	d := &deployment{Node: n, client: c, layout: l}
	if err := d.apply(ctx, root, image); err != nil {
		return nil, err
	}
	err = framework.Established(ctx, func(ctx context.Context, args ...string) error {
		_, err := d.kubectl(ctx, nil, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := d.settled(ctx); err != nil {
		return nil, err
	}
	return d, framework.Eventually(ctx, patience, func(ctx context.Context) error {
		_, err := d.kubectl(ctx, []byte(trial), "create", "--dry-run=server", "-f", "-")
		return err
	})
}

// apply applies the manifests of the layout, or those that are selected.
func (d *deployment) apply(ctx context.Context, root, image string, selected ...string) error {
	manifests, err := d.render(ctx, root, image)
	if err != nil {
		return err
	}
	_, err = d.kubectl(ctx, manifests, append([]string{"apply", "--server-side", "-f", "-"}, selected...)...)
	return err
}

// trial is converted, given defaults and checked.
const trial = `{"apiVersion": "networking.fairlead.dev/v1alpha1", "kind": "ExternalService",
"metadata": {"name": "trial", "namespace": "default"}, "spec": {"endpoints": [{"name": "a", "addresses": ["192.0.2.1"]}], "ports": [{"name": "sql", "port": 5432}]}}`

// render is the layout with the image and the replicas of an overlay, as a platform team has one.
func (d *deployment) render(ctx context.Context, root, image string) (manifests []byte, err error) {
	overlay, err := os.MkdirTemp("", "overlay")
	if err != nil {
		return nil, fmt.Errorf("the overlay: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(overlay)) }()
	shipped, err := filepath.Rel(overlay, filepath.Join(root, "config", d.layout.folder))
	if err != nil {
		return nil, fmt.Errorf("the overlay: %w", err)
	}
	repository, tag, _ := strings.Cut(image, ":")
	content := fmt.Sprintf("resources: [%q]\nimages: [{name: fairlead, newName: %q, newTag: %q}]\nreplicas:\n", shipped, repository, tag)
	for _, p := range d.layout.parts {
		content += fmt.Sprintf("- {name: %s, count: %d}\n", p.name, p.replicas)
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		return nil, fmt.Errorf("the overlay: %w", err)
	}
	return d.kubectl(ctx, nil, "kustomize", overlay)
}

// kubectl runs kubectl as the administrator; its complaint belongs to the error.
func (d *deployment) kubectl(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	var in io.Reader
	if stdin != nil {
		in = bytes.NewReader(stdin)
	}
	if err := d.KubectlIO(ctx, in, &stdout, &stderr, args...); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// settled waits until the rollout is complete, and also the last old pod, which drains, is gone.
func (d *deployment) settled(ctx context.Context) error {
	for _, p := range d.layout.parts {
		if err := d.rolledOut(ctx, p.name); err != nil {
			return err
		}
	}
	return framework.Eventually(ctx, patience, func(ctx context.Context) error {
		pods, err := d.pods(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if pods[i].DeletionTimestamp == nil && isReady(&pods[i]) {
				ready++
			}
		}
		if want := d.layout.replicas(); len(pods) != want || ready != want {
			return fmt.Errorf("%d pods, %d of them ready, instead of %d", len(pods), ready, want)
		}
		return nil
	})
}

func (d *deployment) rolledOut(ctx context.Context, name string) error {
	_, err := d.kubectl(ctx, nil, "rollout", "status", "deployment/"+name, "--namespace="+framework.Namespace, "--timeout="+patience.String())
	if err != nil {
		return errors.Join(err, d.complaint(ctx))
	}
	return nil
}

// complaint says how the pods are, for an error.
func (d *deployment) complaint(ctx context.Context) error {
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	var found []error
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			found = append(found, fmt.Errorf("pod %s: %s: ready %t, restarts %d, state %v", pods[i].Name, pods[i].Status.Phase, s.Ready, s.RestartCount, s.State))
		}
	}
	return errors.Join(found...)
}

func (d *deployment) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := d.client.List(ctx, &list, client.InNamespace(framework.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "fairlead"})
	return list.Items, err
}

// serving selects the pods that the Service leads to.
var serving = client.MatchingLabels{"fairlead.dev/webhooks": "true"}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// leader waits until one of the pods leads, and returns it.
func (d *deployment) leader(ctx context.Context) (leader *corev1.Pod, err error) {
	return leader, framework.Eventually(ctx, patience, func(ctx context.Context) error {
		var lease coordinationv1.Lease
		if err := d.client.Get(ctx, client.ObjectKey{Namespace: framework.Namespace, Name: name}, &lease); err != nil {
			return err
		}
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		pods, err := d.pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if strings.HasPrefix(holder, pods[i].Name) && pods[i].DeletionTimestamp == nil {
				leader = &pods[i]
				return nil
			}
		}
		return fmt.Errorf("the Lease is held by %q, which is no pod", holder)
	})
}
