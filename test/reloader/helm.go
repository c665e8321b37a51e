// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// helmVariable names Helm itself, and programVariable the operator's program, for the program helm of the suites.
	helmVariable, programVariable = "FAIRLEAD_SUITE_HELM", "FAIRLEAD_SUITE_PROGRAM"
)

// release is one of Helm.
type release struct {
	name, namespace string
	stdout, stderr  io.Writer
}

// Helm is the program helm of the suites: Helm, and for each installation of Reloader the policy that takes its place. It returns
// the exit code.
func Helm(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := releaseOf(args)
	r.stdout, r.stderr = stdout, stderr
	var err error
	switch {
	case len(args) > 0 && args[0] == "upgrade":
		if err = r.helm(ctx, args...); err == nil {
			err = r.replace(ctx)
		}
	case len(args) > 0 && args[0] == "uninstall":
		err = errors.Join(r.remove(ctx), r.helm(ctx, args...))
	default:
		err = r.helm(ctx, args...)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "helm:", err)
		return 1
	}
	return 0
}

// releaseOf returns the release that `helm upgrade --install NAME CHART` and `helm uninstall NAME` name.
func releaseOf(args []string) *release {
	var r release
	for i, arg := range args {
		switch {
		case i == 0:
		case arg == "--namespace" && i+1 < len(args):
			r.namespace = args[i+1]
		case r.name == "" && !strings.HasPrefix(arg, "-"):
			r.name = arg
		}
	}
	return &r
}

// replace makes the policy for an installation of Reloader, and waits until it is Ready.
func (r *release) replace(ctx context.Context) error {
	var installed bytes.Buffer
	if err := r.output(ctx, nil, &installed, os.Getenv(helmVariable), "get", "manifest", r.name, "--namespace", r.namespace); err != nil {
		return err
	}
	policy, err := r.policy(ctx, installed.String())
	if err != nil {
		return err
	}
	if err := r.output(ctx, bytes.NewReader(policy), r.stdout, "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	return r.output(ctx, nil, r.stdout, "kubectl", "wait", "--for=condition=Ready", "--timeout=60s", "clusterrebootpolicy/"+r.name)
}

// remove deletes the policy.
func (r *release) remove(ctx context.Context) error {
	return r.output(ctx, nil, r.stdout, "kubectl", "delete", "clusterrebootpolicy", r.name, "--ignore-not-found", "--wait", "--timeout=60s")
}

// policy returns the one for an installation, under the name of the release. The workloads that the command writes a policy for come
// later in the suites, and so it is shown one of each kind.
func (r *release) policy(ctx context.Context, installed string) ([]byte, error) {
	manifests := []string{installed}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"} {
		manifests = append(manifests, Sample(kind, r.namespace))
	}
	if strings.Contains(installed, "--is-Argo-Rollouts=true") {
		manifests = append(manifests, Sample("Rollout", r.namespace))
	}
	return Policy(ctx, os.Getenv(programVariable), r.name, strings.Join(manifests, "\n---\n"), r.stderr)
}

// Policy returns the policy that `fairlead migrate reloader` writes for manifests of Reloader and of workloads, under a name. What the
// command says besides goes to stderr.
func Policy(ctx context.Context, program, name, manifests string, stderr io.Writer) ([]byte, error) {
	var written bytes.Buffer
	err := output(ctx, strings.NewReader(manifests), &written, stderr, program, "migrate", "reloader", "--pace=reloader", "-")
	if err != nil {
		return nil, err
	}
	var policy unstructured.Unstructured
	if err := yaml.Unmarshal(written.Bytes(), &policy.Object); err != nil {
		return nil, fmt.Errorf("what fairlead migrate has written: %w", err)
	}
	if policy.GetKind() != "ClusterRebootPolicy" {
		return nil, fmt.Errorf("fairlead migrate has written no ClusterRebootPolicy, but %q", written.String())
	}
	policy.SetName(name)
	return yaml.Marshal(policy.Object)
}

// Sample returns the manifest of a workload that asks Reloader to reload it.
func Sample(kind, namespace string) string {
	const template = `template: {metadata: {labels: {app: sample}}, spec: {containers: [{name: main, image: none}]}}`
	version, spec := "apps/v1", `selector: {matchLabels: {app: sample}}, `+template
	switch kind {
	case "Job":
		version, spec = "batch/v1", template
	case "CronJob":
		version, spec = "batch/v1", "schedule: '0 0 1 1 *', jobTemplate: {spec: {"+template+"}}"
	case "Rollout":
		version = "argoproj.io/v1alpha1"
	}
	return fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {name: sample, namespace: %s,
  annotations: {reloader.stakater.com/auto: "true"}}, spec: {%s}}`, version, kind, namespace, spec)
}

// helm runs Helm.
func (r *release) helm(ctx context.Context, args ...string) error {
	return r.output(ctx, nil, r.stdout, os.Getenv(helmVariable), args...)
}

func (r *release) output(ctx context.Context, stdin io.Reader, stdout io.Writer, program string, args ...string) error {
	return output(ctx, stdin, stdout, r.stderr, program, args...)
}

func output(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...) //nolint:gosec // the harness names it
	command.Stdin, command.Stdout, command.Stderr = stdin, stdout, stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return nil
}
