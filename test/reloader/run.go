// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// nodes that the pods are spread over.
const nodes = 4

// Suites are those of Reloader, in the order in which they run.
func Suites() []string { return []string{"core", "annotations", "advanced", "argo", "flags"} }

// Options of Run.
type Options struct {
	// Inputs are complete.
	Inputs
	// Suites to run. The default is all.
	Suites []string
	// Labels are the filter by labels of Ginkgo. The default is all but csi and openshift.
	Labels string
	// Focus is a regular expression of the names of specs, as Ginkgo has it. The default is all.
	Focus string
	// Processes is how many specs of a suite run at once. The default is 4.
	Processes int
	// WithoutRollouts leaves Argo Rollouts out, and with it the specs about them. The default is false.
	WithoutRollouts bool
	// Limit is how long one suite may take. The default is 45m.
	Limit time.Duration
}

// stage is one run.
type stage struct {
	Options
	*framework.Cluster

	folder string
	helm   string
}

// Run runs the suites, and returns what came of each. What is built, and reports and logs, are in bin/reloader below Root.
func Run(ctx context.Context, o Options) (results []Result, err error) {
	o.Processes, o.Limit = cmp.Or(o.Processes, 4), cmp.Or(o.Limit, 45*time.Minute)
	o.Labels = cmp.Or(o.Labels, "!csi && !openshift")
	if len(o.Suites) == 0 {
		o.Suites = Suites()
	}
	for _, suite := range o.Suites {
		if !slices.Contains(Suites(), suite) {
			return nil, fmt.Errorf("suite %q: must be one of %s", suite, strings.Join(Suites(), ", "))
		}
	}
	s := &stage{Options: o, folder: filepath.Join(o.Root, "bin", "reloader")}
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if s.Cluster != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	for _, suite := range o.Suites {
		result, err := s.run(ctx, suite)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

// RestartsAlone is the argument of an operator that has RebootPolicies alone.
const RestartsAlone = "--set=kinds=[RebootPolicy]"

// restartsAlone is the kustomization of an operator without the other kinds, which is in bin/reloader/overlay.
const restartsAlone = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../config/local]
components: [../../../config/without/externalservice, ../../../config/without/chaospod]
`

// Open starts a control plane on which Fairlead with RebootPolicies alone is installed. No operator runs yet.
func Open(ctx context.Context, root string, output io.Writer, o cluster.Options) (*framework.Cluster, error) {
	overlay := filepath.Join(root, "bin", "reloader", "overlay")
	err := errors.Join(os.MkdirAll(overlay, 0o750),
		os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(restartsAlone), 0o600))
	if err != nil {
		return nil, err
	}
	return framework.Open(ctx, framework.Options{Root: root, Overlay: overlay, Output: output, Cluster: o})
}

// open starts what the suites run against.
func (s *stage) open(ctx context.Context) (err error) {
	logs := filepath.Join(s.folder, "logs")
	if err := errors.Join(os.RemoveAll(logs), os.MkdirAll(logs, 0o750)); err != nil {
		return err
	}
	if s.Cluster, err = Open(ctx, s.Root, s.Output, cluster.Options{Nodes: nodes, LogFolder: logs}); err != nil {
		return err
	}
	if !s.WithoutRollouts {
		if err := s.startRollouts(ctx); err != nil {
			return err
		}
	}
	if err := s.GrantJobs(ctx); err != nil {
		return err
	}
	replica, err := s.StartReplica(ctx, append([]string{RestartsAlone, framework.Jobs}, s.Arguments...)...)
	if err != nil {
		return err
	}
	return errors.Join(framework.Eventually(ctx, 2*time.Minute, replica.Started), framework.Eventually(ctx, 2*time.Minute, s.reachable),
		s.link("kubectl", s.KubectlPath()))
}

// reachable is nil once the API server reaches the webhooks.
func (s *stage) reachable(ctx context.Context) error {
	const policy = `{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: reachable}, spec: {
  namespaceSelector: {}, template: {spec: {targets: [{selector: {}}], triggers: [{name: config, type: ConfigChange}]}}}}`
	var problems strings.Builder
	if err := s.KubectlIO(ctx, strings.NewReader(policy), io.Discard, &problems, "create", "--dry-run=server", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, problems.String())
	}
	return nil
}

// startRollouts runs Argo Rollouts. Its module has the CRDs, and is there once it is built.
func (s *stage) startRollouts(ctx context.Context) error {
	if _, err := framework.BuildArgoRollouts(ctx, s.Root); err != nil {
		return err
	}
	if err := s.DefineRollouts(ctx); err != nil {
		return err
	}
	_, err := s.StartArgoRollouts(ctx)
	return err
}

// link puts a program on the PATH of the suites.
func (s *stage) link(name, program string) error {
	link := filepath.Join(s.folder, "path", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o750), os.RemoveAll(link)); err != nil {
		return err
	}
	return os.Symlink(program, link)
}

// run runs one suite. That specs fail is no error.
func (s *stage) run(ctx context.Context, suite string) (Result, error) {
	s.printf("%s: %s", suite, s.Labels)
	report := suite + ".json"
	if err := os.RemoveAll(filepath.Join(s.folder, report)); err != nil {
		return Result{}, err
	}
	log, err := os.Create(filepath.Join(s.folder, suite+".log"))
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = log.Close() }()
	args := []string{
		fmt.Sprintf("--procs=%d", s.Processes), "--label-filter=" + s.Labels, "--timeout=" + s.Limit.String(), "--keep-going", "-v", "--no-color",
		"--output-dir=" + s.folder, "--json-report=" + report,
	}
	if s.Focus != "" {
		args = append(args, "--focus="+s.Focus)
	}
	command := exec.CommandContext(ctx, filepath.Join(s.folder, "ginkgo"), append(args, s.binary(suite))...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	command.Dir = s.folder
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(),
		"KUBECONFIG="+s.Kubeconfig(), "PATH="+filepath.Join(s.folder, "path")+string(os.PathListSeparator)+os.Getenv("PATH"),
		helmVariable+"="+s.helm, programVariable+"="+filepath.Join(s.Root, "bin", "fairlead"),
		"HELM_CACHE_HOME="+filepath.Join(s.folder, "helm"), "HELM_CONFIG_HOME="+filepath.Join(s.folder, "helm"),
		"HELM_DATA_HOME="+filepath.Join(s.folder, "helm"), "KUBECACHEDIR="+filepath.Join(s.folder, "kubectl"),
	)
	began := time.Now()
	failure := command.Run()
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	result, err := read(filepath.Join(s.folder, report), suite)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w (%w); see %s", suite, err, failure, log.Name())
	}
	result.Took = time.Since(began)
	s.printf("%s: %d passed, %d failed, %d skipped, in %v", suite, result.Passed, len(result.Failed), result.Skipped, result.Took.Round(time.Second))
	return result, nil
}

func (s *stage) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Output, format+"\n", args...) // progress is worth no failure
}
