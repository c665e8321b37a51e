// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/image"
)

type step struct {
	Uses, Run, Shell string
	With, Env        map[string]any
}

// parse reads a YAML file of the repository, in which no field may be unknown where into says so.
func parse(t *testing.T, name string, into any) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(content)
}

// targets are those of the Makefile.
func targets(t *testing.T) map[string]bool {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllStringSubmatch(string(makefile), -1) {
		all[found[1]] = true
	}
	return all
}

func TestWorkflowsCallTargetsThatExistAndNothingElse(t *testing.T) {
	known := targets(t)
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	pinned := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)@([0-9a-f]{40}) # v[0-9]+(\.[0-9]+)*$`)
	for _, file := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				TimeoutMinutes int `json:"timeout-minutes"`
				Permissions    map[string]string
				Strategy       struct {
					Matrix struct {
						Target  []string
						Include []struct{ Target string }
					}
				}
				Steps []step
			}
		}
		name, _ := filepath.Rel(root, file)
		text := parse(t, name, &workflow)
		if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v, want contents: read, and more in a job only", name, workflow.Permissions)
		}
		if used, found := strings.Count(text, "uses: "), len(pinned.FindAllString(text, -1)); used == 0 || used != found {
			t.Errorf("%s: %d of %d actions are pinned by a commit, with their version behind it", name, found, used)
		}
		for id, job := range workflow.Jobs {
			if job.TimeoutMinutes == 0 {
				t.Errorf("%s: job %s has no timeout-minutes", name, id)
			}
			of := job.Strategy.Matrix.Target
			for _, i := range job.Strategy.Matrix.Include {
				of = append(of, i.Target)
			}
			runs := 0
			for _, s := range job.Steps {
				if s.Run == "" {
					continue
				}
				runs++
				target, called := strings.CutPrefix(strings.TrimPrefix(s.Run, `sudo -E env "PATH=$PATH" `), "make ")
				called = called && !strings.ContainsAny(s.Run, ";&|\n`<>")
				wanted := []string{target}
				if target == "${{ matrix.target }}" {
					wanted = of
				} else if strings.Contains(target, "${{") {
					t.Errorf("%s: job %s: an expression in a script is a way in: pass it by env", name, id)
				}
				for _, w := range wanted {
					if word, _, _ := strings.Cut(w, " "); !called || !known[word] {
						t.Errorf("%s: job %s runs %q: want one target of make that exists", name, id, s.Run)
					}
				}
				if len(wanted) == 0 {
					t.Errorf("%s: job %s runs no target", name, id)
				}
			}
			if runs == 0 && !slices.ContainsFunc(job.Steps, acts) {
				t.Errorf("%s: job %s does nothing", name, id)
			}
			if job.Permissions["contents"] == "write" && len(job.Permissions) > 1 || name == ".github/workflows/release.yaml" && builds(job.Steps) && len(job.Permissions) > 0 {
				t.Errorf("%s: job %s has the rights %v: what builds has none, and what writes to the repository no others", name, id, job.Permissions)
			}
		}
	}
}

// acts reports whether a step is an action that does more than to prepare others.
func acts(s step) bool {
	name, _, is := strings.Cut(s.Uses, "@")
	prepares := []string{"actions/checkout", "actions/setup-go", "actions/cache", "actions/download-artifact", "actions/upload-artifact"}
	return is && !slices.Contains(prepares, name)
}

// builds reports whether a job builds what is released.
func builds(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.Run == "make release" || s.Run == "make site" })
}

// built is the program, packed as a release has it for this machine, and its folder.
func built(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(folder, "fairlead"), "./cmd/fairlead")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return folder
}

const (
	good = "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: db}\nspec:\n  ports: [{name: postgres, port: 5432}]\n  endpoints: [{name: primary, addresses: [192.0.2.10]}]\n"
	bad  = "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: db}\nspec: {portz: []}\n"
)

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What pre-commit does: it builds every program of the module, and gives the hook the files by name.
func TestTheHookOfPreCommitRuns(t *testing.T) {
	var hooks []struct{ ID, Entry, Language, Files string }
	parse(t, ".pre-commit-hooks.yaml", &hooks)
	if len(hooks) != 2 || hooks[0].ID != "fairlead-vet" || hooks[0].Language != "golang" ||
		hooks[1].ID != "fairlead-vet-system" || hooks[1].Language != "system" || hooks[1].Entry != hooks[0].Entry || hooks[1].Files != hooks[0].Files {
		t.Fatalf("%+v", hooks)
	}
	program, folder := built(t), t.TempDir()
	write(t, filepath.Join(folder, "good.yaml"), good)
	write(t, filepath.Join(folder, "bad.yaml"), bad)
	write(t, filepath.Join(folder, "other.yaml"), "a: b\n")
	entry := strings.Fields(hooks[0].Entry)
	matches := regexp.MustCompile(hooks[0].Files)
	for names, want := range map[string]int{"good.yaml": 0, "other.yaml": 0, "good.yaml bad.yaml": 1} {
		for _, name := range strings.Fields(names) {
			if !matches.MatchString("deploy/" + name) {
				t.Errorf("%s is not given to the hook", name)
			}
		}
		command := exec.Command(filepath.Join(program, entry[0]), append(entry[1:], strings.Fields(names)...)...)
		command.Dir = folder
		if said, _ := command.CombinedOutput(); command.ProcessState.ExitCode() != want {
			t.Errorf("%s: exit code %d, want %d: %s", names, command.ProcessState.ExitCode(), want, said)
		}
	}
}

// The scripts of the action run here as they do on a runner, against a release on loopback.
func TestTheActionDownloadsAndVets(t *testing.T) {
	var action struct {
		Inputs map[string]struct {
			Description string
			Default     *string
		}
		Runs struct {
			Using string
			Steps []step
		}
	}
	text := parse(t, "action.yml", &action)
	for _, used := range regexp.MustCompile(`inputs\.([a-z]+)`).FindAllStringSubmatch(text, -1) {
		if _, ok := action.Inputs[used[1]]; !ok {
			t.Errorf("no input %s", used[1])
		}
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 2 {
		t.Fatalf("%+v", action.Runs)
	}
	for _, s := range action.Runs.Steps {
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			t.Error("an expression in a script is a way in: pass it by env")
		}
	}
	program, err := os.ReadFile(filepath.Join(built(t), "fairlead"))
	if err != nil {
		t.Fatal(err)
	}
	p := Platform{runtime.GOOS, runtime.GOARCH}
	release := t.TempDir()
	if err := writeArchive(filepath.Join(release, archiveName(p)), p, []image.Entry{{Name: "LICENSE"}, {Name: "fairlead", Mode: 0o755, Content: program}}, at); err != nil {
		t.Fatal(err)
	}
	of, err := sums(release)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(release, "SHA256SUMS"), of[archiveName(p)]+"  "+archiveName(p)+"\n"+of[archiveName(p)]+"  other\n")
	write(t, filepath.Join(release, "changed", "SHA256SUMS"), strings.Repeat("0", 64)+"  "+archiveName(p)+"\n")
	mux := http.NewServeMux()
	mux.Handle("/v0.1.0/", http.StripPrefix("/v0.1.0/", http.FileServer(http.Dir(release))))
	mux.HandleFunc("/v0.2.0/", func(w http.ResponseWriter, r *http.Request) {
		if name := filepath.Base(r.URL.Path); name == "SHA256SUMS" {
			http.ServeFile(w, r, filepath.Join(release, "changed", name))
		} else {
			http.ServeFile(w, r, filepath.Join(release, name))
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	work, runner := t.TempDir(), t.TempDir()
	write(t, filepath.Join(work, "deploy", "good.yaml"), good)
	write(t, filepath.Join(work, "deploy", "testdata", "bad.yaml"), bad)
	run := func(n int, environment ...string) (string, int) {
		t.Helper()
		command := exec.Command("bash", "-c", action.Runs.Steps[n].Run)
		command.Dir = work
		architecture := map[string]string{"amd64": "X64", "arm64": "ARM64"}[p.Architecture]
		command.Env = append(os.Environ(), "RUNNER_TEMP="+runner, "RUNNER_OS="+map[string]string{"linux": "Linux", "darwin": "macOS"}[p.OS],
			"RUNNER_ARCH="+architecture, "RELEASES="+server.URL, "PATHS=deploy", "ARGUMENTS=", "SARIF=")
		command.Env = append(command.Env, environment...)
		said, _ := command.CombinedOutput()
		return string(said), command.ProcessState.ExitCode()
	}
	for version, says := range map[string]string{"": "is no release", "3d3c42e5aac5": "is no release", "v0.9.9": "404", "v0.2.0": "FAILED"} {
		if said, code := run(0, "VERSION="+version); code == 0 || !strings.Contains(said, says) {
			t.Errorf("version %q: exit code %d, want it to say %q: %s", version, code, says, said)
		}
	}
	if said, code := run(0, "VERSION=v0.1.0", "RUNNER_OS=Windows"); code != 2 || !strings.Contains(said, "no program for Windows") {
		t.Errorf("on Windows: exit code %d: %s", code, said)
	}
	if said, code := run(0, "VERSION=v0.1.0"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for _, c := range []struct {
		environment []string
		code        int
		says        string
	}{
		{nil, 1, "spec.portz: unknown field"},
		{[]string{"ARGUMENTS=--exclude=testdata\n--quiet\n"}, 0, ""},
		{[]string{"PATHS=deploy/good.yaml\n\ndeploy/testdata/bad.yaml"}, 1, "bad.yaml"},
		{[]string{"PATHS=--version"}, 2, "--version"}, // a path is never a flag
		{[]string{"SARIF=found.sarif"}, 1, ""},
	} {
		if said, code := run(1, c.environment...); code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%q: exit code %d, want %d and %q: %s", c.environment, code, c.code, c.says, said)
		}
	}
	var sarif struct{ Version string }
	content, err := os.ReadFile(filepath.Join(work, "found.sarif"))
	if err == nil {
		err = json.Unmarshal(content, &sarif)
	}
	if err != nil || sarif.Version != "2.1.0" {
		t.Errorf("%v, SARIF of version %q", err, sarif.Version)
	}
}

// What the page says was run is what is built.
func TestTheSupportPageNamesTheControlPlanesThatSuitesRunAgainst(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "support.md"))
	if err != nil {
		t.Fatal(err)
	}
	pins := filepath.Join(root, "test", "cluster", "controlplane")
	others, err := filepath.Glob(filepath.Join(pins, "1.*", "go.mod"))
	if err != nil || len(others) == 0 {
		t.Fatalf("no version beside the newest, %v", err)
	}
	for _, file := range append(others, filepath.Join(pins, "go.mod")) {
		modules, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`k8s\.io/kubernetes v([0-9.]+)`).FindSubmatch(modules)
		if version == nil {
			t.Fatalf("%s has no version", file)
		}
		row := fmt.Sprintf("| %s | every suite", version[1])
		if folder := filepath.Base(filepath.Dir(file)); folder != "controlplane" {
			row = fmt.Sprintf("| %s | ", version[1])
			if !strings.HasPrefix(string(version[1]), folder+".") || !strings.Contains(string(page), "KUBERNETES="+folder+"`") {
				t.Errorf("%s pins %s, and the page says how to run it: make test KUBERNETES=%s", file, version[1], folder)
			}
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/support.md has no row %q", row)
		}
	}
}

func TestRenovateFindsTheToolsOfTheMakefile(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "renovate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		CustomManagers []struct{ MatchStrings []string }
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile(config.CustomManagers[0].MatchStrings[0])
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(makefile)) {
		if !strings.Contains(line, ":= go run ") {
			continue
		}
		found++
		match := expression.FindStringSubmatch(line)
		if match == nil || strings.Contains(match[1], "/cmd/") || !strings.Contains(line, match[1]) {
			t.Errorf("%q in %s", match, line)
		}
	}
	if found < 5 {
		t.Errorf("%d tools", found)
	}
}
