// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// podCIDR lies in a range that test/externalnet has servers stand for.
	podCIDR = "198.19.0.0/16"
	// patience is how long a command may take to print what the guide shows.
	patience = 5 * time.Minute
	// settling is how long -update lets it settle.
	settling = 5 * time.Second
)

var update = flag.Bool("update", false, "write what the commands print into the guides")

// reads matches the commands that change nothing, and so can be repeated.
var reads = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|events) `)

// pages are README.md, CONTRIBUTING.md and the pages of docs except decisions, which name what was not taken.
func pages(t *testing.T) map[string]string {
	t.Helper()
	s, found := framework.Test{T: t}, map[string]string{}
	for _, folder := range []string{framework.Root, filepath.Join(framework.Root, "docs"), filepath.Join(framework.Root, "docs", "guides"), filepath.Join(framework.Root, "docs", "reference"), filepath.Join(framework.Root, "docs", "reference", "api")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.md"))
		s.Must(err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			s.Must(err)
			found[strings.TrimPrefix(file, framework.Root+"/")] = string(raw)
		}
	}
	return found
}

// Every command of a page is run and every manifest checked, unless elsewhere says why not. A page has a folder, and namespaces
// of its own for those that it calls shop.
func TestWhatThePagesSayIsSo(t *testing.T) {
	s := framework.Test{T: t}
	var err error
	s.Cluster, err = tests.OpenReplicas(framework.Options{Cluster: cluster.Options{Nodes: 3, PodCIDR: podCIDR}}, framework.CloneSets)
	s.Must(err)
	programs := t.TempDir()
	for _, name := range []string{"fairlead", "kubectl-fairlead"} {
		path, err := filepath.Abs(filepath.Join(framework.Root, "bin", "fairlead"))
		s.Must(err)
		s.Must(os.Symlink(path, filepath.Join(programs, name)))
	}
	all := pages(t)
	longestFirst := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(steps(all[b])), len(steps(all[a]))), cmp.Compare(a, b))
	})
	var done atomic.Int32
	t.Run("pages", func(t *testing.T) { // ends before the cluster does
		for _, page := range longestFirst {
			if len(steps(all[page])) == 0 || len(walked) > 0 && !slices.Contains(walked, page) {
				continue
			}
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				r := &reader{Test: s.In(t), at: map[string]*externalnet.Server{}, page: page, programs: programs, folder: t.TempDir()}
				done.Add(r.read(all[page]))
			})
		}
	})
	if n := done.Load(); n < leastSteps && !t.Failed() && flag.Lookup("test.run").Value.String() == "" {
		t.Errorf("%d steps were done: the search is broken", n)
	}
}

// What is listed must be there, or the list would excuse a block that another one takes the place of.
func TestEachBlockThatIsNotRunIsOnce(t *testing.T) {
	all := pages(t)
	for page, blocks := range elsewhere {
		for begins := range blocks {
			lines := map[int]bool{}
			for _, s := range steps(all[page]) {
				if strings.HasPrefix(s.block, begins) && s.block != "" {
					lines[s.begins] = true
				}
			}
			if len(lines) != 1 {
				t.Errorf("%s: %d blocks begin with %q, want 1", page, len(lines), begins)
			}
		}
	}
}

// reader is one who does what a page says.
type reader struct {
	framework.Test
	at       map[string]*externalnet.Server
	page     string
	programs string // the folder of fairlead and kubectl-fairlead
	folder   string // the present folder: it has config, and what testdata has for the page
	last     string // the last manifest, which was applied or tried
}

var shop = regexp.MustCompile(`\bshop\b`)

// base is the name of the page.
func (r *reader) base() string { return strings.TrimSuffix(filepath.Base(r.page), ".md") }

// own has namespaces of the page's own.
func (r *reader) own(text string) string {
	return shop.ReplaceAllLiteralString(text, "shopof-"+strings.ToLower(r.base()))
}

// read returns how many steps it has done.
func (r *reader) read(raw string) (done int32) {
	shown, printed := steps(raw), map[int][]string{}
	own := steps(r.own(raw))
	r.prepare(own)
	began := false
	for i, s := range own {
		if !began && s.outside == "" {
			began = true
			r.Must(r.try("[ ! -e before.sh ] || bash -e before.sh"))
		}
		switch {
		case r.elsewhere(shown[i]):
			continue
		case s.outside != "":
			r.happen(s.outside)
		case s.command == "":
			if err := r.check(s); err != nil {
				r.Errorf("%s:%d: %v", r.page, s.line, err)
			}
		default:
			if output := r.run(s); !s.shows(output) {
				printed[s.line] = strings.Split(strings.ReplaceAll(strings.Join(output, "\n"), r.own("shop"), "shop"), "\n")
				if !*update {
					r.Fatalf("%s:%d: $ %s\nprints\n%s\nand the page shows\n%s", r.page, s.line, s.command, strings.Join(output, "\n"), strings.Join(s.output, "\n"))
				}
			}
		}
		done++
	}
	if len(printed) > 0 {
		r.Must(os.WriteFile(filepath.Join(framework.Root, r.page), []byte(rewritten(raw, shown, printed)), 0o644))
	}
	return done
}

// elsewhere reports whether the block of a step is listed.
func (r *reader) elsewhere(s step) bool {
	if wholePages[r.page] != "" {
		return true
	}
	for begins := range elsewhere[r.page] {
		if s.block != "" && strings.HasPrefix(s.block, begins) {
			return true
		}
	}
	return false
}

// prepare fills the folder of the page: with config, with what testdata has for it, and with the files that its blocks name in
// their first line.
func (r *reader) prepare(all []step) {
	config, err := filepath.Abs(filepath.Join(framework.Root, "config"))
	r.Must(err)
	r.Must(os.Symlink(config, filepath.Join(r.folder, "config")))
	data := filepath.Join("testdata", r.base())
	err = filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			r.write(strings.TrimPrefix(path, data+"/"), r.own(string(raw)))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Fatal(err)
	}
	for _, s := range all {
		for _, file := range s.files() {
			r.write(file, strings.ReplaceAll(s.block, filepath.Dir(s.files()[0]), filepath.Dir(file))) // the same for another folder
		}
	}
}

func (r *reader) write(file, text string) {
	path := filepath.Join(r.folder, filepath.Dir(file))
	r.Must(os.MkdirAll(path, 0o755))
	toConfig, err := filepath.Rel(path, r.folder)
	r.Must(err)
	text = strings.ReplaceAll(text, "<path or URL>", toConfig)
	r.Must(os.WriteFile(filepath.Join(path, filepath.Base(file)), []byte(text), 0o600))
}

// bash returns what a script prints that runs in the page's folder.
func (r *reader) bash(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script)
	cmd.Dir = r.folder
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig(), "KUBECTL_KUBERC=false", "PATH="+r.programs+":"+filepath.Dir(r.KubectlPath())+":"+os.Getenv("PATH"))
	raw, err := cmd.CombinedOutput()
	return strings.TrimRight(watchEnded.ReplaceAllLiteralString(string(raw), ""), "\n"), err
}

// watchEnded matches the line that kubectl sometimes logs when it ends a watch of its own.
var watchEnded = regexp.MustCompile(`(?m)^I\d{4} [^\n]* reflector\.go:\d+\] "Warning: watch ended with error".*\n?`)

// run returns what a command prints: that which the page shows, if that comes in time.
func (r *reader) run(s step) (output []string) {
	if strings.HasPrefix(s.command, "export KUBECONFIG=") {
		return nil
	}
	r.Logf("$ %s", s.command)
	began := time.Now()
	err := framework.Eventually(r.Context(), patience, func(ctx context.Context) error {
		text, err := r.bash(ctx, s.command)
		output = nil
		if text != "" {
			output = strings.Split(text, "\n")
		}
		if err != nil && (text == "" || s.quiet) {
			return fmt.Errorf("%w: %s", err, text) // one that is meant prints why
		}
		if reads.MatchString(s.command) && !s.shows(output) && (!*update || time.Since(began) <= settling) {
			return fmt.Errorf("prints\n%s", text)
		}
		return nil
	})
	if err != nil {
		r.Fatalf("%s:%d: $ %s\n%v\nand the page shows\n%s", r.page, s.line, s.command, err, strings.Join(s.output, "\n"))
	}
	if _, manifest, applied := strings.Cut(s.command, "<<'YAML'\n"); applied {
		r.last = strings.TrimSuffix(manifest, "YAML")
	}
	return output
}

// happen makes what the page tells its reader to do to what is outside of the cluster.
func (r *reader) happen(what string) {
	verb, object, _ := strings.Cut(what, " ")
	var err error
	switch server := r.at[object]; verb {
	case "listen":
		err = framework.Eventually(r.Context(), patience, func(context.Context) (err error) { // another suite may listen there
			r.at[object], err = r.Servers.TCP(object)
			return err
		})
	case "resolve":
		name, address, _ := strings.Cut(object, " ")
		err = r.Servers.DNS.Addresses(name, time.Minute, address)
	case "refuse":
		err = server.Set(externalnet.Behavior{Fault: externalnet.Refuse})
	case "accept":
		err = server.Set(externalnet.Behavior{})
	default:
		err = fmt.Errorf("unknown")
	}
	if err != nil {
		r.Fatalf("%s: %s: %v", r.page, what, err)
	}
}
