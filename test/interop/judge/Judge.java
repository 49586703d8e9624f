import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONObject;
import com.alibaba.fastjson2.JSONWriter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** RocketMQ's own store, asked by one line of JSON at a time; it answers with one line each. */
public final class Judge {
    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever else prints must not be taken for an answer
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        OpenStore open = null;
        for (String line; (line = questions.readLine()) != null; ) {
            JSONObject question = JSON.parseObject(line);
            try {
                Object answer = null;
                switch (question.getString("op")) {
                    case "open":
                        open = new OpenStore(question.getString("path"), question.getJSONObject("options"));
                        answer = open.bounds();
                        break;
                    case "close":
                        open.close();
                        open = null;
                        break;
                    case "leave": // closing takes seconds of sleep, for which nobody waits
                        new Thread(open::close).start();
                        open = null;
                        break;
                    default:
                        answer = open.answer(question);
                }
                answers.println(JSON.toJSONString(Map.of("ok", new Object[] {answer}), JSONWriter.Feature.WriteNulls));
            } catch (Throwable problem) {
                StringWriter trace = new StringWriter();
                problem.printStackTrace(new PrintWriter(trace));
                answers.println(JSON.toJSONString(Map.of("error", trace.toString())));
            }
        }
        Runtime.getRuntime().halt(0); // nobody is left to answer to
    }
}
